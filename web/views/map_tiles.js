// The tiles of a map: asked for where they are seen, coarse ones first, coloured in the time that a frame leaves, kept as long
// as there is room.
import { ease, easeLong, gazeTable } from '../colour.js';
import { TILE } from './map_grid.js';

const KEPT = 160;     // tiles, of 256 kB of weights and as much of colour
const REQUESTS = 4;   // at a time
const WORK = 8;       // ms of colouring a frame
const ASKED_AGAIN_AFTER = 2000;  // ms after an error; at once would be as often as a screen is drawn

const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** Colours of a tile's cells, as ImageData keeps them. */
class Palette {
  #tables;
  #place;
  #aside;
  #hidden;

  constructor(grid, { aside, hidden }) {
    this.#tables = [gazeTable(false), gazeTable(true)].map(table => Uint32Array.from(table, packed));
    this.#place = grid.logarithmic ? w => easeLong(w, grid.count) : ease;
    this.#aside = packed(aside);
    this.#hidden = packed(hidden);
  }

  colour(weight, mark) {
    if (mark === 3) return this.#hidden;
    if (mark === 2) return this.#aside;
    return this.#tables[mark][Math.round(255 * Math.min(1, this.#place(weight)))];
  }
}

export class TileStore {
  #grid = null;
  #tiles = new Map();     // "level.row.col" -> {data, rows, cols, canvas}
  #requests = new Map();  // the same names -> AbortController
  #palette = null;
  #resting = 0;           // timer: after an error nothing is asked for until it ends
  #changed;
  #failed;

  /** `changed` is called when there is something new to draw, `failed` with the error of a request. */
  constructor(changed, failed) {
    this.#changed = changed;
    this.#failed = failed;
  }

  /** From here on tiles are of `grid`; those of another map are forgotten. `inks`: [r, g, b] of what is set `aside`, and of what is
   * `hidden` to a row. */
  show(grid, inks) {
    if (this.#grid?.name !== grid.name) {
      this.stop();
      this.#tiles.clear();
    }
    this.#grid = grid;
    this.#palette = new Palette(grid, inks);
    for (const tile of this.#tiles.values()) tile.canvas = null;
  }

  stop() {
    for (const request of this.#requests.values()) request.abort();
    this.#requests.clear();
    clearTimeout(this.#resting);
    this.#resting = 0;
  }

  #names({ x, y, span }, level) {
    const size = TILE << level;
    const most = this.#grid.tilesAt(level) - 1;
    const range = at => [Math.floor(at / size), Math.min(most, Math.floor((at + span) / size))];
    const [[left, right], [top, bottom]] = [range(x), range(y)];
    const names = [];
    for (let row = top; row <= bottom; row++) {
      for (let col = left; col <= right; col++) names.push({ level, row, col, name: `${level}.${row}.${col}` });
    }
    return names;
  }

  /** What to draw for a camera, coarse tiles first so that finer ones cover them: [{level, row, col, tile}]. Colours as many
   * as this frame has time for, and asks for what is missing. */
  visible(camera) {
    const finest = this.#grid.levelAt(camera.scale);
    const wanted = [];
    const drawn = [];
    const deadline = performance.now() + WORK;
    let late = false;
    for (let level = this.#grid.topLevel; level >= finest; level--) {
      // The top level is wanted whole: it is what shows while finer tiles are on their way, and the overview.
      const whole = level === this.#grid.topLevel;
      for (const place of this.#names(whole ? { x: 0, y: 0, span: this.#grid.count } : camera, level)) {
        const tile = this.#tiles.get(place.name);
        if (!tile) {
          if (level === finest || whole) wanted.push(place);
          continue;
        }
        if (!tile.canvas && performance.now() < deadline) tile.canvas = this.#coloured(tile, place);
        if (tile.canvas) drawn.push({ ...place, tile });
        else late = true;
        this.#tiles.delete(place.name);  // to the end: used last
        this.#tiles.set(place.name, tile);
      }
    }
    this.#ask(wanted, camera);
    if (late) this.#changed();
    return { drawn, missing: wanted.length, level: finest };
  }

  /** The weight of a cell of level 0, if its tile is here. */
  weight(row, col) {
    const tile = this.#tiles.get(`0.${Math.floor(row / TILE)}.${Math.floor(col / TILE)}`);
    return tile ? tile.data[(row % TILE) * tile.cols + (col % TILE)] : undefined;
  }

  /** The tiles that show the whole map, as far as they are here: [{level, row, col, tile}]. */
  overview() {
    const places = this.#names({ x: 0, y: 0, span: this.#grid.count }, this.#grid.topLevel);
    const here = places.map(place => ({ ...place, tile: this.#tiles.get(place.name) })).filter(({ tile }) => tile);
    for (const place of here) place.tile.canvas ??= this.#coloured(place.tile, place);
    return here;
  }

  #coloured(tile, { level, row, col }) {
    const canvas = new OffscreenCanvas(tile.cols, tile.rows);
    const context = canvas.getContext('2d');
    const image = context.createImageData(tile.cols, tile.rows);
    const pixels = new Uint32Array(image.data.buffer);
    const rowMarks = this.#grid.marks(level, row * TILE, tile.rows);
    const colMarks = this.#grid.marks(level, col * TILE, tile.cols);
    for (let r = 0, at = 0; r < tile.rows; r++) {
      const [from, to] = this.#grid.seenCells(level, row * TILE + r);
      for (let c = 0; c < tile.cols; c++, at++) {
        const cell = col * TILE + c;
        const hidden = cell < from || cell >= to || (level === 0 && this.#grid.isCut(row * TILE + r, cell));
        const mark = hidden ? 3 : Math.max(rowMarks[r], colMarks[c]);
        pixels[at] = this.#palette.colour(tile.data[at], mark);
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  #ask(wanted, camera) {
    const names = new Set(wanted.map(place => place.name));
    for (const [name, request] of this.#requests) {
      if (!names.has(name)) {
        request.abort();
        this.#requests.delete(name);
      }
    }
    const [x, y] = camera.middle;
    const distance = ({ level, row, col }) => Math.hypot((col + 0.5) * (TILE << level) - x, (row + 0.5) * (TILE << level) - y);
    wanted.sort((a, b) => b.level - a.level || distance(a) - distance(b));
    for (const place of wanted) {
      if (this.#resting || this.#requests.size >= REQUESTS) return;
      if (!this.#requests.has(place.name)) this.#request(place);
    }
  }

  async #request({ level, row, col, name }) {
    const request = new AbortController();
    this.#requests.set(name, request);
    const grid = this.#grid;
    try {
      const { rows, cols, data } = await grid.tile(level, row, col, request.signal);
      if (request.signal.aborted || grid.name !== this.#grid.name) return;
      this.#tiles.set(name, { rows, cols, data, canvas: null });
      this.#forget();
      this.#changed();
    } catch (error) {
      if (!request.signal.aborted) this.#rest(error);
    } finally {
      if (this.#requests.get(name) === request) this.#requests.delete(name);
    }
  }

  #rest(error) {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.#resting = 0;
      this.#changed();
    }, ASKED_AGAIN_AFTER);
    this.#failed(error);
  }

  #forget() {
    for (const name of this.#tiles.keys()) {
      if (this.#tiles.size <= KEPT) return;
      if (!name.startsWith(`${this.#grid.topLevel}.`)) this.#tiles.delete(name);
    }
  }
}
