// Where the page's numbers come from when a server has them: `sightline serve` and its /api.

import { Recent } from './recent.js';

/** What went wrong, and of which kind the page shows it: 'offline', 'gone', 'busy', 'long', 'empty' or 'failed'. */
export class SourceError extends Error {
  constructor(kind, message, { code = '', retryAfter = 0 } = {}) {
    super(message);
    this.name = 'SourceError';
    this.kind = kind;
    this.code = code;  // the server's
    this.retryAfter = retryAfter;
  }
}

const KIND_OF_STATUS = { 410: 'gone', 413: 'long', 429: 'busy', 503: 'busy' };

const KIND_OF_CODE = { text_empty: 'empty', text_too_long: 'long' };
const kindOf = (status, code) => KIND_OF_CODE[code] ?? KIND_OF_STATUS[status] ?? 'failed';

async function errorOf(response) {
  const body = await response.json().catch(() => null);
  const message = body?.error?.message ?? `HTTP ${response.status}`;
  const code = body?.error?.code ?? '';
  return new SourceError(kindOf(response.status, code), message, { code, retryAfter: Number(response.headers.get('Retry-After')) || 0 });
}

const KEPT_BYTES = 64 << 20;
const KEPT_TOKENS = 300_000;  // of reports: three texts of 100,000 tokens, a thousand sentences

const sameMaps = (a, b) => a.length === b.length && a.every((map, i) => map.layer === b[i].layer && map.head === b[i].head);

/** Maps as /api/tile names them: "all" and a layer's "L4" for what would be a long list, else L1H1,L1H2. */
function namesOf(maps, kept) {
  if (sameMaps(maps, kept)) return 'all';
  const layer = kept.filter(map => map.layer === maps[0]?.layer);
  if (sameMaps(maps, layer)) return `L${layer[0].layer}`;
  return maps.map(map => `L${map.layer}H${map.head}`).join(',');
}

function floatsOf(buffer, shape, expected) {
  const [count, rows, cols] = (shape ?? '').split(',').map(Number);
  if (count !== expected || count * rows * cols * 4 !== buffer.byteLength) {
    throw new SourceError('failed', `${buffer.byteLength} bytes of weights, shape ${shape}`);
  }
  return { count, rows, cols, data: new Float32Array(buffer) };  // little-endian, as every browser's machine is
}

export class RemoteSource {
  kind = 'server';
  canEdit = true;
  texts = [];
  #blocks = new Recent(KEPT_BYTES);
  #reports = new Recent(KEPT_TOKENS);
  #asked = new Map();    // look id -> the request that made it, to make it again
  #maps = new Map();     // look id -> the maps that it keeps
  #renewed = new Map();  // look id that is gone -> promise of the one that replaced it

  async #fetch(path, options) {
    let response;
    try {
      response = await fetch(path, options);
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new SourceError('offline', error.message);
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  async model({ signal } = {}) {
    return (await this.#fetch('api/model', { signal })).json();
  }

  async #post(request, signal) {
    const response = await this.#fetch('api/look', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(request),
      signal,
    });
    const report = await response.json();
    this.#asked.set(report.look, request);
    return report;
  }

  /** The report on a text, or on the one that the server keeps under `id`. */
  async look({ text, id, truncate = false }, { signal } = {}) {
    const key = id ?? JSON.stringify([text, truncate]);
    const kept = this.#reports.get(key);
    if (kept) return kept;
    const report = id
      ? await (await this.#fetch(`api/look?look=${encodeURIComponent(id)}`, { signal })).json()
      : await this.#post({ text, ...(truncate && { truncate }) }, signal);
    this.#maps.set(report.look, report.maps.filter(map => map.kept));
    this.#reports.set(key, report, report.tokens.length + 300);
    return report;
  }

  /** Asks for something of a look; where the server no longer keeps it, makes it once more. */
  async #ofLook(look, path, signal) {
    const now = this.#renewed.get(look) ?? look;
    const url = async id => `${path}&look=${encodeURIComponent(await id)}`;
    try {
      return await this.#fetch(await url(now), { signal });
    } catch (error) {
      if (error.kind !== 'gone' || !this.#asked.has(look)) throw error;
      // Who comes first has it made, for all that ask at the same time; so it ends with nobody's signal.
      if ((this.#renewed.get(look) ?? look) === now) this.#renewed.set(look, this.#again(look));
      return this.#fetch(await url(this.#renewed.get(look)), { signal });
    }
  }

  async #again(look) {
    try {
      return (await this.#post(this.#asked.get(look))).look;
    } catch (error) {
      this.#renewed.delete(look);
      throw error;
    }
  }

  /** The page with this look as one file: of all maps that the server keeps, or, where that would be too large, of `maps`. */
  async page({ look, maps }, { signal } = {}) {
    try {
      return await (await this.#ofLook(look, 'api/look?html=1', signal)).blob();
    } catch (error) {
      if (error.code !== 'page_too_large') throw error;
      return (await this.#ofLook(look, `api/look?html=1&maps=${namesOf(maps, [])}`, signal)).blob();
    }
  }

  async weights({ look, maps, mean = false, rows, keys, step = 1 }, { signal } = {}) {
    const range = ([from, to]) => `${from}:${to}`;
    const path = `api/tile?maps=${namesOf(maps, this.#maps.get(look) ?? [])}&rows=${range(rows)}&keys=${range(keys)}&step=${step}${mean ? '&mean=1' : ''}`;
    const key = `${look} ${path}`;
    const kept = this.#blocks.get(key);
    if (kept) return kept;
    const response = await this.#ofLook(look, path, signal);
    const block = floatsOf(await response.arrayBuffer(), response.headers.get('Sightline-Shape'), mean ? 1 : maps.length);
    this.#blocks.set(key, block, block.data.byteLength);
    return block;
  }

  async explain({ look, layer, head, token }, { signal } = {}) {
    const key = `${look} L${layer}H${head}:${token}`;
    const kept = this.#blocks.get(key);
    if (kept) return kept;
    const response = await this.#ofLook(look, `api/look?explain=L${layer}H${head}:${token}&only=explanations`, signal);
    const explanation = (await response.json()).explanations[0] ?? null;
    if (explanation) {
      const numbers = explanation.keys.length * explanation.output.length * 3;
      this.#blocks.set(key, explanation, numbers * 8);
    }
    return explanation;
  }
}
