// Text as a column, where a line has no room: the sentence runs down, the beams beside it; on a wide window every head of
// the layer has a column.
import { beamPath, beamsOf, FULL_WIDTH, LEAST_WEIGHT } from '../beam.js';
import { gaze, inkOn } from '../colour.js';
import { el, svg, withTip } from '../dom.js';
import { columnText, t } from '../i18n.js';
import { wordOption } from './text_options.js';
import { isIn, pairText } from './text_sentence.js';

const GUTTER = 92;        // px of the beams
const LEAST_BEAM = 0.7;
const HEAD_COLUMN = 24;   // px
const HEADS_FROM = 720;   // px of room from which the heads are shown

const rowHeight = (available, count) => Math.max(20, Math.min(30, Math.floor(available / count)));

export class TallSentence {
  #context;
  #box;
  #layer;
  #rows = [];
  #cells = [];     // [items][heads] of the layer, where there is room
  #height;
  #wide;
  #room;

  constructor(root, context, actions) {
    this.#context = context;
    const axis = context.axis();
    this.#room = root.clientWidth;
    this.#wide = root.clientWidth >= HEADS_FROM && !context.narrow();
    this.#height = context.narrow() ? 30 : rowHeight(root.clientHeight - 30, axis.count);
    const height = axis.count * this.#height;
    this.#layer = svg('svg', { class: 'beams', width: GUTTER, height, 'aria-hidden': 'true' });
    for (let i = 0; i < axis.count; i++) this.#rows.push(this.#row(axis, i, actions));
    const list = el('div', { role: 'listbox', 'aria-label': t('words'), class: 'tall', style: { height: `${height}px` } },
      this.#layer, this.#rows.map(row => row.option));
    this.#box = el('div', { class: 'tallbox' }, list, this.#wide && this.#headGrid(axis, height));
    this.#box.style.setProperty('--letters', `${Math.min(18, this.#height - 6)}px`);
    root.replaceChildren(this.#box);
  }

  #row(axis, i, actions) {
    const word = el('span', { class: 'word' }, axis.label(i));
    const bar = el('i');
    const number = el('span', { class: 'number' });
    const option = wordOption(axis, i, actions, {
      class: axis.special(i) ? 'row special' : 'row', dir: 'ltr',
      style: { top: `${i * this.#height}px`, height: `${this.#height}px` },
    }, [el('span'), el('bdi', {}, word), el('span', { class: 'amount' }, bar), number]);
    return { option, word, bar, number };
  }

  get #heads() {
    return this.#context.look.mapsOf(this.#context.state().l);
  }

  #headGrid(axis, height) {
    const heads = this.#heads;
    const grid = svg('svg', { width: heads.length * HEAD_COLUMN, height, 'aria-hidden': 'true' });
    this.#cells = Array.from({ length: axis.count }, (_, i) => heads.map(({ head }, k) => {
      const cell = svg('rect', {
        x: k * HEAD_COLUMN + 1, y: i * this.#height + 2, width: HEAD_COLUMN - 2, height: this.#height - 4, rx: 1.5,
        onclick: () => this.#context.set({ h: head }), ...withTip(() => cell.dataset.tip),
      });
      grid.append(cell);
      return cell;
    }));
    const labels = heads.map(({ head }) => el('button', {
      type: 'button', class: 'collab', 'data-key': `head ${head}`, 'data-head': head, style: { width: `${HEAD_COLUMN}px` },
      onclick: () => this.#context.set({ h: head }),
    }, String(head)));
    return el('div', { class: 'tallheads' }, el('div', { class: 'labels' }, labels), grid);
  }

  fits(root) {
    return root.clientWidth === this.#room && this.#context.axis().count === this.#rows.length;
  }

  draw({ item, row, heads }) {
    const axis = this.#context.axis();
    this.#rows.forEach(({ option, word, bar, number }, i) => {
      const shown = axis.shown(i);
      const special = axis.special(i);
      const chosen = i === this.#context.item();
      option.setAttribute('aria-selected', String(chosen));
      option.setAttribute('aria-label', pairText(this.#context, item, i, row[i]));
      option.tabIndex = chosen ? 0 : -1;
      word.style.backgroundColor = shown ? gaze(row[i], special) : '';
      word.style.color = shown ? inkOn(row[i], special) : '';
      bar.style.width = shown ? `${Math.min(1, row[i]) * 100}%` : '0';
      bar.style.backgroundColor = gaze(Math.max(0.2, row[i]), special);
      number.textContent = shown ? columnText(row[i]) : '–';
    });
    this.#drawBeams(item, row);
    if (heads && this.#wide) this.#drawHeads(item, heads);
  }

  #drawBeams(item, row) {
    const axis = this.#context.axis();
    const inward = isIn(this.#context);
    const middle = i => i * this.#height + this.#height / 2;
    const most = this.#height * 0.8;
    const drawn = beamsOf({ axis, row, item, inward, middle, full: Math.min(FULL_WIDTH, most), room: most });
    const beams = drawn.map(({ weight, width, from, to }, i) => {
      if (weight < LEAST_WEIGHT) return null;
      const high = 12 + (GUTTER - 30) * (Math.abs(i - item) / axis.count) ** 0.6;
      const d = beamPath(from, to, 0, high, Math.max(LEAST_BEAM, width));
      const special = axis.special(i);
      const colour = gaze(Math.max(special ? 0.16 : 0.11, weight), special);
      // x and y change places: the line of the words runs down.
      return svg('path', { class: 'beam', d, fill: colour, stroke: colour, opacity: special ? 0.55 : 0.92,
        transform: `matrix(0 1 1 0 ${GUTTER - 4} 0)` });
    });
    const eye = svg('circle', { class: inward ? 'eye ring' : 'eye', cx: GUTTER - 4, cy: middle(item), r: 4.5 });
    this.#layer.replaceChildren(...beams.filter(Boolean), eye);
  }

  #drawHeads(item, heads) {
    const axis = this.#context.axis();
    const { h, l } = this.#context.state();
    const n = axis.count;
    this.#cells.forEach((cells, i) => cells.forEach((cell, k) => {
      const weight = heads[k * n + i];
      cell.setAttribute('fill', axis.shown(i) ? gaze(weight, axis.special(i)) : 'none');
      cell.dataset.tip = `L${l}H${this.#heads[k].head}: ${pairText(this.#context, item, i, weight)}`;
    }));
    for (const label of this.#box.querySelectorAll('.collab')) {
      const head = Number(label.dataset.head);
      label.setAttribute('aria-pressed', String(head === h));
      label.setAttribute('aria-label', t('layerHead', { l, h: head }));
    }
  }

  destroy() {}
}
