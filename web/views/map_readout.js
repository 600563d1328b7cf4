// Beside the map: the weight under the pointer, its row along the text, and the scale of the colours.
import { el, svg, wordElement } from '../dom.js';
import { countText, t, weightText } from '../i18n.js';
import { legend, longLegend } from '../legend.js';

const WIDTH = 264;
const BARS = 132;
const LEGEND_WIDTH = 240;

/** Sums of a row in at most BARS neighbouring parts. */
export function binned(row) {
  const bars = Math.min(BARS, row.length);
  const sums = new Float64Array(bars);
  row.forEach((weight, i) => { sums[Math.floor((i * bars) / row.length)] += weight; });
  return sums;
}

// Bars go by the root, so that a small one beside a large one is seen.
function chart(row, chosen, label) {
  const bars = binned(row);
  const most = bars.reduce((a, b) => Math.max(a, b), 0) || 1;
  const width = WIDTH / bars.length;
  const hot = Math.floor((chosen * bars.length) / row.length);
  const rects = Array.from(bars, (sum, i) => {
    const height = Math.sqrt(Math.max(0, sum) / most) * 62;
    return svg('rect', { class: i === hot ? 'hot' : 'bar', x: i * width, y: 64 - height, width: Math.max(1, width - (width > 4 ? 2 : 0.3)), height });
  });
  return svg('svg', { class: 'chart', viewBox: `0 0 ${WIDTH} 65`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    rects, svg('line', { class: 'base', x1: 0, x2: WIDTH, y1: 64.5, y2: 64.5 }));
}

export class MapReadout {
  #pair = el('div', { class: 'pair' });
  #weight = el('div', { class: 'weight' });
  #times = el('div', { class: 'small' });
  #row = el('div', { class: 'profile' });
  #col = el('section');
  #scale = el('section');
  #status = el('p', { class: 'small', role: 'status' });

  constructor(root) {
    root.replaceChildren(
      el('section', {}, el('h2', { class: 'under' }, t('mapUnder')), this.#pair, this.#weight, this.#times),
      el('section', {}, el('h2', {}, t('mapRow')), this.#row), this.#col, this.#scale, this.#status);
  }

  /** What stays while the map does. */
  setGrid(grid) {
    this.#scale.replaceChildren(el('h2', {}, t(grid.logarithmic ? 'legendLong' : 'legend')),
      (grid.logarithmic ? longLegend : legend)(LEGEND_WIDTH));
  }

  setPair(grid, [row, col], weight) {
    const name = i => [wordElement(grid.axis.label(i)), grid.count > 64 && ` (${countText(i + 1)})`];
    const parts = [name(row), ' → ', name(col)].flat().filter(part => part);
    this.#pair.replaceChildren(...parts);
    const hidden = grid.hidden(row, col);
    this.#weight.textContent = hidden ? t('mapHidden') : weight === undefined ? '…' : weightText(weight);
    this.#times.textContent = grid.logarithmic && weight !== undefined && !hidden ? t('mapTimes', { n: (weight * grid.count).toFixed(2) }) : '';
  }

  setRow(row, [, col], label) {
    this.#row.replaceChildren(chart(row, col, label));
  }

  /** Weight that each column receives, for maps that are here as a whole. */
  setColumns(sums, [, col]) {
    this.#col.replaceChildren(el('h2', {}, t('mapReceived')), chart(sums, col, t('mapReceived')));
  }

  setStatus(text) {
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }
}
