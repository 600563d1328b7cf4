// Where the page's numbers come from in a one-file page: what stands in the file, and what follows from it. Weights are
// computed again from Q, K and the row states, in slices.
import { entropy } from './look.js';
import { LayerNumbers } from './layer_numbers.js';
import { Recent } from './recent.js';
import { pause } from './slices.js';
import { softmax } from './softmax.js';
import { SourceError } from './source.js';

const PAGE_VERSION = 1;
const KEPT_BYTES = 64 << 20;
const TITLE_LENGTH = 80;

/** Whether this page is a one-file page: then its facts stand in it. */
export const isFilePage = () => document.getElementById('sightline-page') !== null;

function titleOf(text) {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH)}…` : line;
}

const norm = values => Math.hypot(...values);

export class FileSource {
  kind = 'file';
  canEdit = false;
  #page;
  #text;
  #layers = new Map();  // "text.layer" -> promise of LayerNumbers
  #blocks = new Recent(KEPT_BYTES);

  /** `textOf` gives the text of the element with an id. */
  constructor(textOf = id => document.getElementById(id)?.textContent ?? '') {
    this.#text = textOf;
    this.#page = JSON.parse(textOf('sightline-page'));
    if (this.#page.sightline_page !== PAGE_VERSION) {
      throw new SourceError('failed', `This file is of version ${this.#page.sightline_page}, which this page does not know.`);
    }
    this.texts = this.#page.texts.map(({ report }) => titleOf(report.text));
  }

  /** {exact, within}: whether the numbers are fp32, and what a weight may be off by. */
  get precision() {
    const { exact, within } = this.#page;
    return { exact, within };
  }

  async model() {
    const { model, caveat } = this.#page.texts[0].report;
    return { model, caveat };
  }

  /** The report of one of the texts. */
  async look({ index = 0 } = {}) {
    const { report } = this.#page.texts[Math.min(index, this.#page.texts.length - 1)];
    report.look ??= String(this.#page.texts.findIndex(text => text.report === report));
    return report;
  }

  #layer(look, layer) {
    const name = `${look}.${layer}`;
    if (!this.#layers.has(name)) {
      const { layers, report } = this.#page.texts[Number(look)];
      const facts = layers.find(one => one.layer === layer);
      if (!facts) throw new SourceError('failed', `This file has no layer ${layer}.`);
      this.#layers.set(name, LayerNumbers.read(facts, report.blocked, this.#text(facts.numbers)));
    }
    return this.#layers.get(name);
  }

  /** As RemoteSource.weights: [maps or 1, rows, keys], a cell the mean of step × step weights, ragged at the ends. */
  async weights(request, { signal } = {}) {
    const { look, maps, mean = false, rows: [top, bottom], keys: [from, to], step = 1 } = request;
    const name = [look, maps.map(({ layer, head }) => `L${layer}H${head}`), mean, top, bottom, from, to, step].join(' ');
    const kept = this.#blocks.get(name);
    if (kept) return kept;
    const count = mean ? 1 : maps.length;
    const rows = Math.ceil((bottom - top) / step);
    const cols = Math.ceil((to - from) / step);
    const sums = new Float64Array(count * rows * cols);
    for (const [m, { layer, head }] of maps.entries()) {
      const numbers = await this.#layer(look, layer);
      const index = numbers.headIndex(head);
      const grid = mean ? 0 : m * rows * cols;
      for (let row = top; row < bottom; row++) {
        const at = grid + Math.floor((row - top) / step) * cols;
        const height = Math.min(step, bottom - row + ((row - top) % step));
        const share = 1 / height / (mean ? maps.length : 1);
        numbers.addWeights(index, row, [from, to], { out: sums, at, step, share });
        await pause(signal);
      }
    }
    const block = { count, rows, cols, data: await meansOfKeys(sums, cols, to - from, step, signal) };
    this.#blocks.set(name, block, block.data.byteLength);
    return block;
  }

  /** One explanation of the report (docs/report.md), computed here. Where the file has no values, `value`, `contribution`
   * and their lengths are null, and `output` too. */
  async explain({ look, layer, head, token }, { signal } = {}) {
    const numbers = await this.#layer(look, layer);
    signal?.throwIfAborted();
    const index = numbers.headIndex(head);
    const { scale, softcap } = numbers.facts.score;
    const query = Array.from(numbers.query(index, token));
    const dots = Array.from({ length: numbers.keys }, (_, j) => numbers.key(index, j).reduce((sum, x, d) => sum + x * query[d], 0));
    const [from, to] = numbers.seen(token);
    const scoresOf = by => dots.map((dot, j) => (j >= from && j < to && !numbers.isCut(index, token, j) ? numbers.scored(dot, by) : -Infinity));
    const scores = scoresOf(scale);
    const sink = numbers.sink(index);
    const weights = softmax(scores, sink);
    const keys = dots.map((dot, j) => explainedKey(numbers, index, j, { dot, score: scores[j], weight: weights[j] }));
    return {
      kind: 'self', layer, head, name: `L${layer}H${head}`, token, scaled: true, scale, softcap, query, keys,
      ...(sink == null ? {} : { sink: { logit: sink, weight: 1 - weights.reduce((a, b) => a + b, 0) } }),
      output: outputOf(keys, numbers.valueWidth),
      with_scale: peakOf(weights, scale),
      without_scale: peakOf(softmax(scoresOf(1), sink), 1),
    };
  }
}

// Sums over `step` keys to means; the last cell of a row may have fewer.
async function meansOfKeys(sums, cols, keys, step, signal) {
  const data = new Float32Array(sums.length);
  const last = keys - (cols - 1) * step;
  for (let row = 0; row < sums.length; row += cols) {
    for (let i = row; i < row + cols - 1; i++) data[i] = sums[i] / step;
    data[row + cols - 1] = sums[row + cols - 1] / last;
    await pause(signal);
  }
  return data;
}

const peakOf = (weights, scale) => ({ scale, entropy: entropy(weights), max_weight: weights.reduce((a, b) => Math.max(a, b), 0) });

function explainedKey(numbers, index, j, { dot, score, weight }) {
  const scaled = dot * numbers.facts.score.scale;
  const seen = { token: j, dot, scaled, score: Number.isFinite(score) ? score : null, weight, key: Array.from(numbers.key(index, j)) };
  if (numbers.valueWidth === 0) return { ...seen, value: null, value_norm: null, contribution: null, contribution_norm: null };
  const value = Array.from(numbers.value(index, j));
  const contribution = value.map(x => x * weight);
  return { ...seen, value, value_norm: norm(value), contribution, contribution_norm: norm(contribution) };
}

function outputOf(keys, width) {
  if (width === 0) return null;
  return Array.from({ length: width }, (_, d) => keys.reduce((sum, key) => sum + key.contribution[d], 0));
}
