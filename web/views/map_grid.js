// What a map is drawn from: cells between items, in tiles of 256 × 256, at level L each the mean of 2^L × 2^L weights.
import { cutsAll, seenBy } from '../look.js';

export const TILE = 256;  // cells

// Up to here words can be joined and every weight has a cell. Of longer texts tiles come between tokens, as the source
// gives them: words are of different lengths, so that means over blocks of words would be no means of blocks of tokens.
const WORDS_UP_TO = 1024;  // tokens

// Beyond this many items weights are shown by their logarithm, as one may be a hundred-thousandth.
const EASED_UP_TO = 64;

export class MapGrid {
  #context;

  constructor(context) {
    this.#context = context;
    const { look, source } = context;
    const chosen = context.axis();
    this.byItem = look.tokens.length <= WORDS_UP_TO;
    this.axis = this.byItem ? chosen : look.axis({ pieces: true, aside: chosen.aside, sink: chosen.sink });
    this.source = source;
    this.maps = context.chosenMaps().map(({ layer, head }) => ({ layer, head }));
    this.mean = context.mean();
    this.count = this.axis.count;
    this.tokens = look.tokens.length;
    this.score = context.chosenMaps()[0].score;
    this.cuts = this.maps.map(map => look.cutsOf(map));  // a map
    this.topLevel = this.byItem ? 0 : Math.max(0, Math.ceil(Math.log2(this.count / TILE)));
    this.logarithmic = this.count > EASED_UP_TO;
  }

  /** Names the weights: equal names, equal tiles. */
  get name() {
    const maps = this.maps.map(({ layer, head }) => `${layer}.${head}`).join(',');
    return `${this.#context.look.id} ${maps} ${this.mean} ${this.axis.pieces}`;
  }

  /** The level whose cells are nearest to a pixel, at `scale` pixels an item. */
  levelAt(scale) {
    return Math.max(0, Math.min(this.topLevel, Math.floor(Math.log2(1 / scale) + 0.6)));
  }

  /** Tiles a side. */
  tilesAt(level) {
    return Math.ceil(this.count / (TILE << level));
  }

  #range(level, index) {
    const size = TILE << level;
    return [index * size, Math.min(this.count, (index + 1) * size)];
  }

  /** Weights of items rows to items keys; a cell the mean of step × step. @returns {Promise<{rows, cols, data}>} */
  async block(rows, keys, step, signal) {
    const { axis, maps, mean, source } = this;
    if (this.byItem) {
      const data = await this.#context.weights.block({ axis, maps, mean, rows, keys });
      return { rows: rows[1] - rows[0], cols: keys[1] - keys[0], data };
    }
    return source.weights({ look: this.#context.look.id, maps, mean, rows, keys, step }, { signal });
  }

  tile(level, row, col, signal) {
    return this.block(this.#range(level, row), this.#range(level, col), 1 << level, signal);
  }

  /** Cells of level `level` of which the items of row cell `row` see anything: from, to. All of a layer's heads see the same. */
  seenCells(level, row) {
    const step = 1 << level;
    const first = Math.min(this.count - 1, row * step);
    const last = Math.min(this.count, (row + 1) * step) - 1;
    const from = seenBy(this.score, this.axis.begin(first), this.tokens)[0];
    const to = seenBy(this.score, this.axis.end(last) - 1, this.tokens)[1];
    if (from >= to) return [0, 0];
    return [this.axis.itemOf(from) >> level, (this.axis.itemOf(to - 1) >> level) + 1];
  }

  /** Whether the items of row `row` see nothing of column `col`. */
  hidden(row, col) {
    const [from, to] = this.seenCells(0, row);
    return col < from || col >= to || this.isCut(row, col);
  }

  /** Whether all that item `row` would see of item `col` was knocked out, in every map that is shown. */
  isCut(row, col) {
    const { axis, score, tokens } = this;
    if (this.cuts.some(list => list.length === 0)) return false;
    const [rows, keys] = [row, col].map(item => [axis.begin(item), axis.end(item)]);
    return this.cuts.every(list => cutsAll(list, score, rows, keys, tokens));
  }

  /** Of `cells` cells of 2^level items from cell `first`: 0 = as it is, 1 = of a special token, 2 = set aside. */
  marks(level, first, cells) {
    const marks = new Uint8Array(cells);
    const step = 1 << level;
    // Only the ends of a text hold special tokens as a rule, so a coarse cell of the middle is not looked through.
    for (let c = 0; c < cells; c++) {
      const from = (first + c) * step;
      const to = Math.min(this.count, from + step);
      const items = step <= 4 ? Array.from({ length: to - from }, (_, i) => from + i) : [from, to - 1];
      if (items.some(i => !this.axis.shown(i))) marks[c] = 2;
      else if (step === 1 && this.axis.special(from)) marks[c] = 1;
    }
    return marks;
  }
}
