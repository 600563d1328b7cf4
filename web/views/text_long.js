// Text, for long inputs: the whole text as one strip, beams to its best passages, and those passages to read. Only what is on
// screen is in the document; all of it comes from one row of weights.
import { beamHeight, beamPath, FULL_WIDTH } from '../beam.js';
import { gaze, gazeAt, gazeTable, inkAt } from '../colour.js';
import { el, svg, textWidth, withTip, wordElement } from '../dom.js';
import { countText, rich, t, weightText } from '../i18n.js';
import { bestPassages, PASSAGE, partsOf, peaks } from '../passages.js';
import { asideSentence, givesList, isIn, pairText, question } from './text_sentence.js';

const BAR = 40;          // px: height of the strip
const BELOW = 44;        // px: its parts
const LINE = 25;         // px: a line of the surroundings
const PASSAGE_HEIGHT = 74;  // px: its range and two lines, and the gap
const PAGE = 100;        // items that PgUp and PgDn go
const PART_WIDTH = 96;   // px that a part needs for its range
const BIN = 2;           // px

export class LongText {
  #root;
  #context;
  #asked = 0;
  #strip = null;

  constructor(root, context) {
    this.#root = root;
    this.#context = context;
    root.replaceChildren();
  }

  get keys() {
    const rtl = this.#context.look.rtl ? -1 : 1;
    const move = (key, by, labelKey) => ({ key, labelKey, always: true, run: () => this.#step(by) });
    return [
      move('ArrowLeft', -rtl, 'keyWord'), move('ArrowRight', rtl, 'keyWord'),
      move('PageUp', -PAGE, 'keyPage'), move('PageDown', PAGE, 'keyPage'),
      move('Home', -Infinity, 'keyEnds'), move('End', Infinity, 'keyEnds'),
    ];
  }

  #step(by) {
    const axis = this.#context.axis();
    const next = Math.max(0, Math.min(axis.count - 1, this.#context.item() + by));
    this.#context.set({ w: axis.begin(next), t: null }, { replace: true });
  }

  #choose = item => this.#context.set({ w: this.#context.axis().begin(item), t: null });

  async update() {
    const asked = ++this.#asked;
    const row = await this.#context.row();
    if (asked !== this.#asked) return;
    const item = this.#context.item();
    const focused = this.#root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.#lead(item, row);  // first, as the room left depends on its lines
    this.#draw(item, row);
    if (focused) this.#root.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
  }

  #lead(item, row) {
    const context = this.#context;
    const axis = context.axis();
    const parts = bestPassages(row, axis, 3).map(({ begin, end, mass }) => [mass, el('span', { class: 'part' }, rangeText(begin, end))]);
    const sentence = rich(isIn(context) ? 'sayLongIn' : 'sayLong', {
      i: countText(item + 1), n: countText(axis.count), map: context.mapName(), w: wordElement(axis.label(item)),
      list: givesList(context, parts),
    });
    sentence.append(asideSentence(context, row));
    context.lead(question(context, item), sentence);
  }

  /** What the room allows. */
  #room() {
    const width = this.#root.clientWidth;
    const available = this.#root.clientHeight;
    if (this.#context.narrow()) return { width, beams: 96, passages: 5, lines: 8, column: width };
    const beams = Math.max(110, Math.min(210, available - 420));
    const left = available - beams - BAR - BELOW - 60;
    return {
      width, beams, passages: Math.max(3, Math.min(5, Math.floor((left + 20) / PASSAGE_HEIGHT))), lines: Math.max(6, Math.floor(left / LINE) - 1),
      column: width / 2 - 24,
    };
  }

  #draw(item, row) {
    const room = this.#room();
    const axis = this.#context.axis();
    const best = bestPassages(row, axis, room.passages);
    this.#strip = this.#drawStrip(item, row, best, room);
    const passages = el('section', {},
      el('div', { class: 'sub' }, el('span', {}, t(isIn(this.#context) ? 'passagesIn' : 'passages')),
        el('small', {}, t('passagesSums', { k: PASSAGE }))),
      el('ol', { class: 'passages' }, best.map(passage => this.#passage(item, row, passage))));
    const [begin, end] = this.#surroundings(item, room);
    const around = el('section', {},
      el('div', { class: 'sub' }, el('span', {}, rich('around', { w: wordElement(axis.label(item)) })), el('small', {}, t('legendLong'))),
      this.#run('around', item, row, begin, end, 'around'));
    this.#root.replaceChildren(this.#strip, el('div', { class: 'longcols' }, passages, around));
  }

  #passage(item, row, { begin, end, mass }) {
    return el('li', {}, el('span', { class: 'mass' }, weightText(mass)),
      el('div', {}, el('small', {}, rangeText(begin, end)), this.#run('passage', item, row, begin, end, `passage ${begin}`)));
  }

  /** A stretch of the text to read, each word tinted. */
  #run(kind, item, row, begin, end, key) {
    const axis = this.#context.axis();
    const words = [];
    for (let i = begin; i < end; i++) words.push(this.#word(item, row, i, key), axis.gapAfter(i) ? ' ' : '');
    return el('p', { class: `run ${kind}`, dir: this.#context.look.rtl ? 'rtl' : 'ltr' }, words);
  }

  #word(item, row, i, key) {
    const axis = this.#context.axis();
    const shown = axis.shown(i);
    const shade = this.#context.shade(row[i]);
    const label = () => pairText(this.#context, item, i, row[i]);
    return el('button', {
      type: 'button', class: i === item ? 'lw me' : 'lw', tabindex: i === item ? '0' : '-1',
      'data-key': i === item ? `${key.split(' ')[0]} me` : null, 'aria-label': label(), 'aria-current': i === item ? 'true' : null,
      style: shown ? { backgroundColor: gazeAt(shade, axis.special(i)), color: inkAt(shade, axis.special(i)) } : {},
      onclick: () => this.#choose(i), ...withTip(label),
    }, el('bdi', {}, axis.label(i)));
  }

  /** Items around the chosen one that fill the lines there are, three quarters of them before it. */
  #surroundings(item, { lines, column }) {
    const axis = this.#context.axis();
    const widthOf = i => textWidth(axis.label(i), '17px Newsreader') + 8;
    const fill = (room, from, by) => {
      let i = from;
      for (let used = 0; i + by >= 0 && i + by < axis.count && used < room; i += by) used += widthOf(i + by);
      return i;
    };
    const room = (lines - 1) * column * 0.94;
    return [fill(room * 0.75, item, -1), fill(room * 0.25, item, 1) + 1];
  }

  #drawStrip(item, row, best, { width, beams }) {
    const context = this.#context;
    const axis = context.axis();
    const x = place => (context.look.rtl ? axis.count - place : place) * (width / axis.count);
    const height = beams + BAR + BELOW;
    const at = event => {
      const box = strip.getBoundingClientRect();
      const share = (event.clientX - box.x) / box.width;
      return Math.max(0, Math.min(axis.count - 1, Math.floor((context.look.rtl ? 1 - share : share) * axis.count)));
    };
    const strip = svg('svg', {
      class: 'longstrip', width, height, viewBox: `0 0 ${width} ${height}`, tabindex: '0', role: 'slider', 'data-key': 'strip',
      'aria-label': t('stripLong'), 'aria-valuemin': 1, 'aria-valuemax': axis.count, 'aria-valuenow': item + 1,
      'aria-valuetext': t('stripWord', { i: countText(item + 1), n: countText(axis.count), w: axis.label(item) }),
      onclick: event => this.#choose(at(event)),
    },
    this.#stripBeams(item, best, x, { width, beams }),
    svg('image', { x: 0, y: beams, width, height: BAR, href: stripImage(context, row, width), preserveAspectRatio: 'none' }),
    svg('rect', { class: 'outline', x: 0.5, y: beams + 0.5, width: width - 1, height: BAR - 1 }),
    svg('circle', { class: isIn(context) ? 'eye ring' : 'eye', cx: x(item + 0.5), cy: beams, r: 4.5 }),
    this.#stripParts(row, x, { width, beams }));
    return strip;
  }

  #stripBeams(item, best, x, { width, beams }) {
    return [...best].reverse().map(({ begin, end, mass }) => {
      const middle = x((begin + end) / 2);
      const eye = x(item + 0.5);
      const wide = Math.max(1, mass * FULL_WIDTH);
      const there = Math.abs(middle - eye) < 16 ? eye : Math.min(width - wide / 2, Math.max(wide / 2, middle));
      const [from, to] = isIn(this.#context) ? [there, eye] : [eye, there];
      const colour = gaze(Math.max(0.11, mass));
      const high = Math.min(beams - 12, beamHeight(Math.abs(there - eye), width, beams));
      return svg('path', { class: 'beam', d: beamPath(from, to, beams, high, wide), fill: colour, stroke: colour, opacity: 0.94 });
    });
  }

  #stripParts(row, x, { width, beams }) {
    const axis = this.#context.axis();
    const count = Math.max(2, Math.min(8, Math.floor(width / PART_WIDTH)));
    return partsOf(row, axis, count).map(({ begin, end, mass }, k) => {
      const [a, b] = [x(begin), x(end)].sort((p, q) => p - q);
      return [
        svg('rect', { class: k % 2 ? 'part odd' : 'part', x: a, y: beams + BAR + 6, width: Math.max(1, b - a - 2), height: 3 }),
        svg('text', { class: 'range', x: (a + b) / 2, y: beams + BAR + 24, 'text-anchor': 'middle' }, `${countText(begin + 1)}–${countText(end)}`),
        svg('text', { class: 'sum', x: (a + b) / 2, y: beams + BAR + 39, 'text-anchor': 'middle' }, weightText(mass)),
      ];
    });
  }

  destroy() {
    this.#asked++;
  }
}

const rangeText = (begin, end) => t('passageRange', { a: countText(begin + 1), b: countText(end) });

/** The strip's colours as a picture, a pixel a bin. */
function stripImage(context, row, width) {
  const axis = context.axis();
  const bins = Math.max(1, Math.floor(width / BIN));
  const canvas = el('canvas', { width: bins, height: 1 });
  const paper = canvas.getContext('2d');
  const image = paper.createImageData(bins, 1);
  const table = gazeTable();
  peaks(row, axis, bins).forEach((weight, k) => {
    const k2 = context.look.rtl ? bins - 1 - k : k;
    image.data.set([...table[Math.round(context.shade(weight) * (table.length - 1))], 255], 4 * k2);
  });
  paper.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
