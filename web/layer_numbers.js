// The numbers of one layer as a one-file page carries them (docs/page.md): Q, K, V and row states in planes of bytes, deflated,
// in base64. From them follows every score, and every weight.
import { cuts, cutsOf, seenBy } from './look.js';
import { SourceError } from './source.js';
import { pause } from './slices.js';

const CHUNK = 1 << 18;  // characters of base64 decoded at a time, a multiple of 4: under a millisecond
const TYPES = { I16: 2, F32: 4 };
const SCORE_FIELDS = ['scale', 'softcap', 'causal', 'query_position', 'window_left', 'window_right', 'sinks'];

const damaged = what => new SourceError('failed', `This file is damaged: ${what}.`);

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function feed(base64, writable) {
  const writer = writable.getWriter();
  for (let at = 0; at < base64.length; at += CHUNK) {
    await writer.write(bytesOf(base64.slice(at, at + CHUNK)));
    await pause();
  }
  await writer.close();
}

async function inflated(base64) {
  const stream = new DecompressionStream('deflate');
  try {
    const [buffer] = await Promise.all([new Response(stream.readable).arrayBuffer(), feed(base64, stream.writable)]);
    return new Uint8Array(buffer);
  } catch (error) {
    throw damaged(error.message);
  }
}

/** Reads numbers from planes: the highest byte of all of them, then the next. */
class PlaneReader {
  #bytes;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  async #words(count, size) {
    const words = new Uint32Array(count);
    for (let plane = 0; plane < size; plane++) {
      const bytes = this.#bytes.subarray(this.#at, this.#at + count);
      for (let i = 0; i < count; i++) words[i] = (words[i] << 8) | bytes[i];
      this.#at += count;
      await pause();
    }
    return words;
  }

  async floats(count) {
    return new Float32Array((await this.#words(count, 4)).buffer);
  }

  /** [heads, rows, width] of fixed point: centre + step * integer, centre and step [heads, width]. */
  async fixed(heads, rows, width) {
    const integers = await this.#words(heads * rows * width, 2);
    const centre = await this.floats(heads * width);
    const step = await this.floats(heads * width);
    const values = new Float32Array(integers.length);
    for (let h = 0, at = 0; h < heads; h++) {
      for (let i = 0; i < rows; i++) {
        for (let d = h * width; d < (h + 1) * width; d++, at++) values[at] = centre[d] + step[d] * (integers[at] - 0x8000);
      }
      await pause();
    }
    return values;
  }
}

/** How many bytes the numbers of a layer take, by its facts. */
function sizeOf({ type, heads, kv_heads: kv, rows, keys, width, value_width: valueWidth }) {
  const channels = kv * (width + valueWidth) + heads.length * width;
  const numbers = heads.length * rows * width + kv * keys * (width + valueWidth);
  const states = heads.length * rows * 4;
  return type === 'F32' ? 4 * numbers + 2 * states : 2 * numbers + 8 * channels + states;
}

/** Throws where the layer's attention does more than this page can compute again. */
function requireKnown(facts) {
  const unknown = Object.keys(facts.score).filter(key => !SCORE_FIELDS.includes(key));
  if (!(facts.type in TYPES)) unknown.push(facts.type);
  if (unknown.length === 0) return;
  throw new SourceError('failed',
    `Layer ${facts.layer} of this model uses what this page cannot compute again: ${unknown.join(', ')}. ` +
    'Look at it with a newer `sightline serve`.');
}

export class LayerNumbers {
  /** `blocked`: what the report says was knocked out. */
  constructor(facts, blocked, { q, k, v, max, sum, lse }) {
    Object.assign(this, { facts, q, k, v, max, sum, lse });
    this.cuts = facts.heads.map(head => cutsOf(blocked, facts.layer, head));
    this.width = facts.width;
    this.valueWidth = facts.value_width;
    this.keys = facts.keys;
  }

  /** From the facts, the report's `blocked` and the text of the element that holds the numbers. */
  static async read(facts, blocked, base64) {
    requireKnown(facts);
    const bytes = await inflated(base64.trim());
    if (bytes.length !== sizeOf(facts)) throw damaged(`layer ${facts.layer} has ${bytes.length} bytes, not ${sizeOf(facts)}`);
    const { heads, kv_heads: kv, rows, keys, width, value_width: valueWidth } = facts;
    const reader = new PlaneReader(bytes);
    if (facts.type === 'I16') {
      const q = await reader.fixed(heads.length, rows, width);
      const k = await reader.fixed(kv, keys, width);
      const v = await reader.fixed(kv, keys, valueWidth);
      return new LayerNumbers(facts, blocked, { q, k, v, lse: await reader.floats(heads.length * rows) });
    }
    const q = await reader.floats(heads.length * rows * width);
    const k = await reader.floats(kv * keys * width);
    const v = await reader.floats(kv * keys * valueWidth);
    const max = await reader.floats(heads.length * rows);
    return new LayerNumbers(facts, blocked, { q, k, v, max, sum: await reader.floats(heads.length * rows) });
  }

  /** Place of a head (from 1) among those that are kept. */
  headIndex(head) {
    const index = this.facts.heads.indexOf(head);
    if (index < 0) throw new SourceError('failed', `This file has no head ${head} of layer ${this.facts.layer}.`);
    return index;
  }

  query(index, row) {
    const at = (index * this.facts.rows + row) * this.width;
    return this.q.subarray(at, at + this.width);
  }

  key(index, j) {
    const at = (this.facts.kv_of_heads[index] * this.keys + j) * this.width;
    return this.k.subarray(at, at + this.width);
  }

  /** Empty where the file carries no values. */
  value(index, j) {
    const at = (this.facts.kv_of_heads[index] * this.keys + j) * this.valueWidth;
    return this.v.subarray(at, at + this.valueWidth);
  }

  /** Keys that a row sees: from, to. */
  seen(row) {
    return seenBy(this.facts.score, row, this.keys);
  }

  /** Whether a key of those was knocked out for a row, in the head at a place. */
  isCut(index, row, j) {
    return cuts(this.cuts[index], row, j);
  }

  /** The logit of a head's sink, by its place; null without one. */
  sink(index) {
    return this.facts.score.sinks?.[index] ?? null;
  }

  /** From a dot product to a score. */
  scored(dot, scale = this.facts.score.scale) {
    const { softcap } = this.facts.score;
    const score = dot * scale;
    return softcap > 0 ? softcap * Math.tanh(score / softcap) : score;
  }

  /** Adds a row's weights of keys [from, to), times `share`, to `out` from `at` on; cells take `step` keys each. Dot products
   * are rounded as the kernel rounds them (docs/attention.md): the row states are of its scores, and where a score is 100, one
   * of more digits would be 1e-5 away from it in a weight. A product of two fp32 numbers is exact here, so that rounding its
   * sum with a third is a fused multiply-add. */
  addWeights(index, row, [from, to], { out, at, step, share }) {
    const { q, k, width } = this;
    const state = index * this.facts.rows + row;
    const shift = this.lse ? this.lse[state] : this.max[state];
    const factor = this.lse ? share : share / this.sum[state];
    const [first, last] = this.seen(row);
    const keyBase = this.facts.kv_of_heads[index] * this.keys;
    const query = state * width;
    const scale = Math.fround(this.facts.score.scale);
    for (let j = Math.max(from, first); j < Math.min(to, last); j++) {
      if (this.isCut(index, row, j)) continue;
      const key = (keyBase + j) * width;
      let dot = 0;
      for (let d = 0; d < width; d++) dot = Math.fround(q[query + d] * k[key + d] + dot);
      out[at + Math.floor((j - from) / step)] += Math.exp(Math.fround(this.scored(dot, scale)) - shift) * factor;
    }
  }
}
