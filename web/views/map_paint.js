// Draws a map on a canvas: tiles, numbers in cells, labels or ticks on both axes, the cell that is looked at.
import { ease, easeLong, inkAt } from '../colour.js';
import { textWidth } from '../dom.js';
import { countText, t } from '../i18n.js';
import { TILE } from './map_grid.js';

const LABELLED = 14;   // px an item from which items have labels of their own
const NUMBERED = 26;   // px a cell from which its weight is printed
const LINED = 10;      // px a cell from which cells are set apart
const SAMPLED = 200;   // items, spread over the text, whose labels are measured for the margins
const TICKS = [1, 2, 5];
const TICK_GAP = 64;   // px between ticks, at least

/** The first step of 1, 2, 5, 10, 20, … that leaves room between ticks. */
export function tickStep(scale) {
  for (let power = 1; ; power *= 10) {
    for (const digit of TICKS) if (digit * power * scale >= TICK_GAP) return digit * power;
  }
}

/** A weight as a cell has room for: .68, and nothing where it would be .00. */
function cellText(weight) {
  if (!(weight >= 0.005)) return '';
  return weight >= 0.995 ? '1.0' : weight.toFixed(2).slice(1);
}

export class MapPainter {
  #canvas;
  #context;
  #inks;

  constructor(canvas) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d');
  }

  setInks(inks) {
    this.#inks = inks;
  }

  /** Fits the canvas to its place: margins for labels, and the square that is left. */
  layout(grid, ratio = devicePixelRatio || 1) {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const small = width < 480;
    const longest = this.#longestLabel(grid, small ? 58 : grid.count > 64 ? 88 : 120);
    const left = Math.max(longest + 12, small ? 44 : 64);
    const top = Math.max(small ? 52 : 60, Math.min(small ? 64 : 96, longest * 0.93 + 26));
    const side = Math.max(80, Math.floor(Math.min(width - left - (small ? 14 : 26), height - top - 4)));
    this.box = { left, top, side, width, height, small };
    Object.assign(this.#canvas.dataset, { left, top, side });  // for who reads the picture by its places
    return this.box;
  }

  #longestLabel(grid, most) {
    let longest = 0;
    const step = Math.max(1, Math.floor(grid.count / SAMPLED));
    for (let i = 0; i < grid.count; i += step) longest = Math.max(longest, textWidth(grid.axis.label(i), this.#font(16, false)));
    return Math.min(longest, most);
  }

  #font(size, special, bold = false) {
    const { serif, sans } = this.#inks;
    return special ? `${bold ? 600 : 500} ${size - 3}px ${sans}` : `${bold ? 600 : 400} ${size}px ${serif}`;
  }

  /** `scene`: {grid, camera, store, at: [row, col] or null}. Returns what store.visible() said. */
  draw(scene) {
    const { left, top, side, width, height } = this.box;
    const context = this.#context;
    context.clearRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(left, top, side, side);
    context.clip();
    const seen = this.#drawTiles(scene);
    if (scene.camera.scale >= LINED) this.#drawLines(scene);
    if (scene.camera.scale >= NUMBERED) this.#drawNumbers(scene);
    context.restore();
    context.strokeStyle = this.#inks.line;
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, side + 1, side + 1);
    if (scene.camera.scale >= LABELLED) this.#drawLabels(scene);
    else this.#drawTicks(scene);
    this.#drawNames(scene);
    if (scene.at) this.#drawAt(scene);
    return seen;
  }

  #drawTiles({ camera, store }) {
    const { left, top } = this.box;
    const context = this.#context;
    const seen = store.visible(camera);
    for (const { level, row, col, tile } of seen.drawn) {
      const size = TILE << level;
      const cell = (1 << level) * camera.scale;
      // Cells under a pixel are averaged, larger ones stay squares.
      context.imageSmoothingEnabled = cell < 1;
      context.drawImage(tile.canvas, left + (col * size - camera.x) * camera.scale, top + (row * size - camera.y) * camera.scale,
        tile.cols * cell, tile.rows * cell);
    }
    return seen;
  }

  /** use(item, px) for the items that are seen from `start`, px from the map's edge to the item's. */
  #eachSeen(start, { grid, camera }, use) {
    const end = Math.min(grid.count, Math.ceil(start + camera.span));
    for (let item = Math.floor(start); item < end; item++) use(item, (item - start) * camera.scale);
  }

  #drawLines(scene) {
    const { left, top, side } = this.box;
    this.#context.fillStyle = this.#inks.paper;
    this.#eachSeen(scene.camera.x, scene, (_, px) => this.#context.fillRect(left + px + scene.camera.scale - 1, top, 1, side));
    this.#eachSeen(scene.camera.y, scene, (_, py) => this.#context.fillRect(left, top + py + scene.camera.scale - 1, side, 1));
  }

  #drawNumbers(scene) {
    const { grid, camera, store } = scene;
    const { left, top } = this.box;
    const context = this.#context;
    const size = camera.scale > 38 ? 12 : 11;
    const place = grid.logarithmic ? w => easeLong(w, grid.count) : ease;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    this.#eachSeen(camera.y, scene, (row, py) => {
      this.#eachSeen(camera.x, scene, (col, px) => {
        if (!grid.axis.shown(row) || !grid.axis.shown(col) || grid.hidden(row, col)) return;
        const weight = store.weight(row, col);
        const text = cellText(weight);
        if (!text) return;
        context.font = `${weight >= 0.1 ? 600 : 400} ${size}px ${this.#inks.sans}`;
        context.fillStyle = inkAt(place(weight), grid.axis.special(row) || grid.axis.special(col));
        context.fillText(text, left + px + camera.scale / 2 - 0.5, top + py + camera.scale / 2 + 0.5);
      });
    });
  }

  #drawLabels(scene) {
    const { grid, camera, at } = scene;
    const { left, top, side } = this.box;
    const context = this.#context;
    const size = Math.min(16, Math.max(12, camera.scale * 0.5));
    const half = camera.scale / 2;
    const angle = -Math.PI / (camera.scale > 34 ? 4 : 2.6);
    const write = (item, chosen, room) => {
      context.font = this.#font(size, grid.axis.special(item), chosen);
      context.fillStyle = chosen ? this.#inks.ink : this.#inks.soft;
      context.globalAlpha = grid.axis.shown(item) ? 1 : 0.5;
      const label = this.#fitted(grid.axis.label(item), room);
      context.fillText(label, 0, 0);
      context.globalAlpha = 1;
    };
    const placed = (x, y, turn, draw) => {
      context.save();
      context.translate(x, y);
      context.rotate(turn);
      draw();
      context.restore();
    };
    context.textBaseline = 'middle';
    this.#eachSeen(camera.y, scene, (item, py) => {
      if (py + half < 0 || py + half > side) return;
      context.textAlign = 'right';
      placed(left - 8, top + py + half, 0, () => write(item, item === at?.[0], left - 8));
    });
    this.#eachSeen(camera.x, scene, (item, px) => {
      if (px + half < 0 || px + half > side) return;
      context.textAlign = 'left';
      placed(left + px + half - 1, top - 9, angle, () => write(item, item === at?.[1], (top - 20) / -Math.sin(angle)));
    });
  }

  // The whole label, or as much of it as there is room for.
  #fitted(label, room) {
    if (this.#context.measureText(label).width <= room) return label;
    const letters = [...label];
    while (letters.length > 1 && this.#context.measureText(`${letters.join('')}…`).width > room) letters.pop();
    return `${letters.join('')}…`;
  }

  #drawTicks({ grid, camera }) {
    const { left, top, side } = this.box;
    const context = this.#context;
    const step = tickStep(camera.scale);
    context.font = `11px ${this.#inks.sans}`;
    context.textBaseline = 'middle';
    const each = (start, use) => {
      const end = Math.min(grid.count, start + camera.span);
      for (let n = Math.ceil((start + 1) / step) * step; n <= end; n += step) use(countText(n), (n - 0.5 - start) * camera.scale);
    };
    each(camera.y, (text, py) => {
      context.fillStyle = this.#inks.soft;
      context.textAlign = 'right';
      context.fillText(text, left - 10, Math.min(top + py + 1, top + side - 6));
      context.fillStyle = this.#inks.edge;
      context.fillRect(left - 6, top + py, 5, 1);
    });
    each(camera.x, (text, px) => {
      context.fillStyle = this.#inks.soft;
      context.textAlign = px < 12 ? 'left' : 'center';
      context.fillText(text, left + px, top - 16);
      context.fillStyle = this.#inks.edge;
      context.fillRect(left + px, top - 6, 1, 5);
    });
  }

  #drawNames({ camera }) {
    const { left, top, side } = this.box;
    const context = this.#context;
    context.font = `600 12px ${this.#inks.sans}`;
    context.fillStyle = this.#inks.gaze;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.fillText(`${t('mapRows')} ↓`, 0, top - (camera.scale >= LABELLED ? 10 : 16));
    context.textAlign = 'right';
    context.fillText(`${t('mapCols')} →`, left + side, 8);
  }

  #drawAt({ grid, camera, at: [row, col] }) {
    const { left, top, side } = this.box;
    const context = this.#context;
    const { scale } = camera;
    const x = left + (col - camera.x) * scale;
    const y = top + (row - camera.y) * scale;
    context.save();
    context.beginPath();
    context.rect(left - 2, top - 2, side + 4, side + 4);
    context.clip();
    if (grid.count > 64) {
      context.fillStyle = this.#inks.a;
      context.fillRect(left, y + scale / 2 - 0.5, side, 1);
      context.fillRect(x + scale / 2 - 0.5, top, 1, side);
    }
    if (scale > 8) {
      context.strokeStyle = this.#inks.ink;
      context.lineWidth = 2;
      context.strokeRect(x - 1, y - 1, scale + 1, scale + 1);
    }
    context.restore();
  }

  /** The whole map, small, with a frame around what is seen. */
  drawOverview(canvas, { grid, camera, store }) {
    const context = canvas.getContext('2d');
    const side = canvas.width;
    const scale = side / grid.count;
    context.clearRect(0, 0, side, side);
    context.imageSmoothingEnabled = true;
    for (const { level, row, col, tile } of store.overview()) {
      const size = TILE << level;
      const cell = (1 << level) * scale;
      context.drawImage(tile.canvas, col * size * scale, row * size * scale, tile.cols * cell, tile.rows * cell);
    }
    const frame = Math.max(10, camera.span * scale);
    const place = at => Math.min(at * scale, side - frame);
    for (const [width, colour] of [[5, this.#inks.paper], [3, this.#inks.a]]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.strokeRect(place(camera.x) + 1.5, place(camera.y) + 1.5, frame - 3, frame - 3);
    }
  }
}
