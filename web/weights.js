// Weights between items of an axis. A short text's maps are fetched whole, once, so that every hover and every step answers
// from memory; of a longer one, what is asked.
import { mergeKeys, mergeRows } from './look.js';

// 1 MB of fp32: all of MiniLM's 72 maps of 60 tokens. One request then is as fast as one of a single row.
const WHOLE_CELLS = 1 << 18;

const same = (a, b) => a.layer === b.layer && a.head === b.head;

function meanOf(data, count) {
  const cells = data.length / count;
  const mean = new Float32Array(cells);
  for (let i = 0; i < cells; i++) {
    let sum = 0;
    for (let m = 0; m < count; m++) sum += data[m * cells + i];
    mean[i] = sum / count;
  }
  return mean;
}

export class Weights {
  #source;
  #look;
  #signal;
  #whole = null;

  constructor(source, look, signal) {
    this.#source = source;
    this.#look = look;
    this.#signal = signal;
  }

  /** Whether all maps are in memory: then rows of every head cost nothing. */
  get whole() {
    const n = this.#look.tokens.length;
    return this.#look.maps.length * n * n <= WHOLE_CELLS;
  }

  #fetch(maps, mean, rows, keys) {
    return this.#source.weights({ look: this.#look.id, maps, mean, rows, keys, step: 1 }, { signal: this.#signal });
  }

  #all() {
    const n = this.#look.tokens.length;
    const maps = this.#look.maps.map(({ layer, head }) => ({ layer, head }));
    this.#whole ??= this.#fetch(maps, false, [0, n], [0, n]).then(
      ({ data }) => ({ maps, data, n }),
      error => {
        this.#whole = null;
        throw error;
      },
    );
    return this.#whole;
  }

  async #tokens(maps, mean, rows, keys) {
    if (!this.whole) return (await this.#fetch(maps, mean, rows, keys)).data;
    const { maps: kept, data, n } = await this.#all();
    const cols = keys[1] - keys[0];
    const cells = (rows[1] - rows[0]) * cols;
    const block = new Float32Array(maps.length * cells);
    maps.forEach((map, m) => {
      const grid = kept.findIndex(other => same(map, other)) * n * n;
      for (let r = rows[0]; r < rows[1]; r++) {
        const row = data.subarray(grid + r * n + keys[0], grid + r * n + keys[1]);
        block.set(row, m * cells + (r - rows[0]) * cols);
      }
    });
    return mean ? meanOf(block, maps.length) : block;
  }

  /** Weights of items rows[0]..rows[1] to items keys[0]..keys[1] in each of `maps`, or their mean.
   * @returns {Promise<Float32Array>} [maps or 1, rows, keys] */
  async block({ axis, maps, mean = false, rows, keys }) {
    const tokenRows = [axis.begin(rows[0]), axis.end(rows[1] - 1)];
    const tokenKeys = [axis.begin(keys[0]), axis.end(keys[1] - 1)];
    const data = await this.#tokens(maps, mean, tokenRows, tokenKeys);
    const count = mean ? 1 : maps.length;
    const height = tokenRows[1] - tokenRows[0];
    const byItem = mergeKeys(data, count * height, axis, keys);
    const cols = keys[1] - keys[0];
    if (axis.pieces) return byItem;
    const merged = new Float32Array(count * (rows[1] - rows[0]) * cols);
    for (let m = 0; m < count; m++) {
      const grid = byItem.subarray(m * height * cols, (m + 1) * height * cols);
      merged.set(mergeRows(grid, cols, axis, rows), m * (rows[1] - rows[0]) * cols);
    }
    return merged;
  }

  /** One item's weights in each of `maps`, or their mean: to every item where it looks ('out'), from every item that
   * looks at it ('in').
   * @returns {Promise<Float32Array>} [maps or 1, items] */
  row({ axis, maps, mean = false, item, direction }) {
    const all = [0, axis.count];
    const one = [item, item + 1];
    return this.block({ axis, maps, mean, rows: direction === 'in' ? all : one, keys: direction === 'in' ? one : all });
  }

  /** The weight between two items in every map that is kept. @returns {Promise<Float32Array>} [maps] */
  pair({ axis, from, to }) {
    return this.block({ axis, maps: this.#look.maps, rows: [from, from + 1], keys: [to, to + 1] });
  }
}
