// Text as one line: beams over the sentence, a number under each word, and the same word in all heads of the layer.
import { beamHeight, beamPath, beamsOf, FULL_WIDTH, LEAST_WEIGHT } from '../beam.js';
import { gaze, inkOn } from '../colour.js';
import { specialSize } from '../columns.js';
import { el, svg, withTip, wordElement } from '../dom.js';
import { columnText, listOf, rich, t, weightText } from '../i18n.js';
import { wordOption } from './text_options.js';
import { isIn, pairText } from './text_sentence.js';

const GROWTH = 220;       // ms in which beams grow or shrink when the same word is seen through another head
const LEAST_BEAM = 0.6;   // px
const STRIP_TITLE = 30;
const CALM = matchMedia('(prefers-reduced-motion: reduce)');

/** Room left for the beams, and the height of a row of the strip, in a window's height. */
function heights(available, word, heads) {
  const row = Math.max(8, Math.min(18, Math.floor((available * 0.42) / heads)));
  const below = 26 + 44 + heads * row + 8;
  const beams = Math.max(120, Math.min(320, available - word - below - 8));
  return { row, below, beams };
}

export class WideSentence {
  #context;
  #columns;
  #size;
  #stage;
  #beams = [];
  #words = [];
  #numbers = [];
  #eye = svg('circle', { class: 'eye', r: 4.5 });
  #beamLayer;
  #strip;
  #stripTitle = el('span');
  #stripNote = el('small');
  #labels = [];
  #shown = null;   // weights that the beams have now
  #frame = 0;

  constructor(root, context, columns, actions) {
    this.#context = context;
    this.#columns = columns;
    this.#build(root, actions);
    root.replaceChildren(this.#stage);
  }

  get #heads() {
    return this.#context.look.mapsOf(this.#context.state().l);
  }

  #build(root, actions) {
    const { size, x, w, mid } = this.#columns;
    const axis = this.#context.axis();
    const wordHeight = Math.round(size * 1.42);
    const { row, below, beams } = heights(root.clientHeight, wordHeight, this.#heads.length);
    const line = beams + 8;
    this.#size = { line, row, beams, wordHeight, stripTop: line + wordHeight + 40 };
    const width = root.clientWidth;
    this.#beamLayer = svg('svg', { class: 'beams', width, height: line, 'aria-hidden': 'true' });
    for (let i = 0; i < axis.count; i++) {
      const font = axis.special(i) ? `500 ${specialSize(size)}px/${wordHeight}px var(--sans)` : `${size}px/${wordHeight - 2}px var(--serif)`;
      const place = { left: `${x[i]}px`, top: `${line + 4}px`, width: `${w[i]}px`, height: `${wordHeight}px`, font, fontStretch: axis.special(i) ? '75%' : '' };
      this.#words.push(wordOption(axis, i, actions, { class: axis.special(i) ? 'tok special' : 'tok', style: place }));
      const under = { left: `${mid[i] - w[i] / 2 - 6}px`, width: `${w[i] + 12}px`, top: `${line + wordHeight + 8}px` };
      this.#numbers.push(el('span', { class: 'num', style: under }));
      this.#beams.push(svg('path', { class: 'beam' }));
    }
    this.#strip = svg('svg', { class: 'heads', width, height: this.#heads.length * row, 'aria-hidden': 'true' });
    this.#strip.style.top = `${this.#size.stripTop + STRIP_TITLE}px`;
    this.#stage = el('div', { class: 'stage', style: { height: `${line + wordHeight + below}px`, width: `${width}px` } },
      this.#beamLayer,
      el('div', { role: 'listbox', 'aria-label': t('words'), 'aria-orientation': 'horizontal' }, this.#words),
      el('div', { 'aria-hidden': 'true' }, this.#numbers),
      el('div', { class: 'sub', style: { top: `${this.#size.stripTop}px` } }, this.#stripTitle, this.#stripNote),
      this.#strip, this.#headLabels());
  }

  #headLabels() {
    const { row, stripTop } = this.#size;
    const { begin, end } = this.#columns;
    const rtl = this.#context.look.rtl;
    const side = rtl ? { left: `${end + 8}px` } : { left: `${begin - 40}px` };
    this.#labels = this.#heads.map(({ head }, k) => el('button', {
      type: 'button', class: 'rowlab', 'data-key': `head ${head}`, 'data-head': head,
      style: { ...side, width: '32px', top: `${stripTop + STRIP_TITLE + k * row + (row - 16) / 2}px` },
      onclick: () => this.#context.set({ h: head }),
    }, `H${head}`));
    return this.#labels;
  }

  /** Whether it still fits: the same items in the same room. */
  fits(root, columns) {
    return root.clientWidth === this.#stage.clientWidth && columns.x.length === this.#words.length
      && this.#heads.length === this.#labels.length;
  }

  /** Shows an item's row. `heads` [heads, items] are its rows in all heads of the layer, null while it is only previewed. */
  draw({ item, row, heads, animate }) {
    this.#drawWords(item, row);
    this.#moveBeams(item, row, animate);
    if (heads) this.#drawStrip(item, heads);
  }

  #drawWords(item, row) {
    const axis = this.#context.axis();
    this.#words.forEach((word, i) => {
      const shown = axis.shown(i);
      const special = axis.special(i);
      word.classList.toggle('away', !shown);
      word.style.backgroundColor = shown ? gaze(row[i], special) : '';
      word.style.color = shown ? inkOn(row[i], special) : '';
      word.setAttribute('aria-label', pairText(this.#context, item, i, row[i]));
      const chosen = i === this.#context.item();
      word.setAttribute('aria-selected', String(chosen));
      word.tabIndex = chosen ? 0 : -1;
      this.#numbers[i].textContent = shown ? columnText(row[i]) : '–';
      this.#numbers[i].classList.toggle('high', shown && row[i] >= 0.1);
    });
  }

  #moveBeams(item, row, animate) {
    cancelAnimationFrame(this.#frame);
    const order = [...row.keys()].sort((i, k) => row[i] - row[k]);
    const specialFirst = order.filter(i => this.#context.axis().special(i)).concat(order.filter(i => !this.#context.axis().special(i)));
    this.#beamLayer.append(...specialFirst.map(i => this.#beams[i]), this.#eye);
    const from = this.#shown;
    if (!animate || CALM.matches || from?.length !== row.length) {
      this.#placeBeams(item, row);
      return;
    }
    const began = performance.now();
    const step = now => {
      const done = Math.min(1, Math.max(0, now - began) / GROWTH);
      const eased = 1 - (1 - done) ** 3;
      this.#placeBeams(item, row.map((w, i) => from[i] + (w - from[i]) * eased));
      if (done < 1) this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  #placeBeams(item, row) {
    const axis = this.#context.axis();
    const { mid, w, begin, end } = this.#columns;
    const { line, beams } = this.#size;
    const inward = isIn(this.#context);
    const drawn = beamsOf({ axis, row, item, inward, middle: i => mid[i], full: FULL_WIDTH, room: w[item] - 4 });
    this.#beams.forEach((beam, i) => {
      const { weight, width, from, to } = drawn[i];
      const high = beamHeight(Math.abs(mid[i] - mid[item]), end - begin, beams);
      const path = beamPath(from, to, line, high, Math.max(LEAST_BEAM, width));
      beam.setAttribute('d', weight < LEAST_WEIGHT ? '' : path);
      const special = axis.special(i);
      const colour = gaze(Math.max(special ? 0.16 : 0.11, weight), special);
      beam.setAttribute('fill', colour);
      beam.setAttribute('stroke', colour);
      beam.setAttribute('opacity', special && !inward ? 0.6 : 0.94);
    });
    this.#eye.setAttribute('cx', mid[item]);
    this.#eye.setAttribute('cy', line);
    this.#eye.setAttribute('class', inward ? 'eye ring' : 'eye');
    this.#shown = row;
  }

  #drawStrip(item, heads) {
    const context = this.#context;
    const axis = context.axis();
    const { l, h } = context.state();
    const { row } = this.#size;
    const { x, w, begin, end } = this.#columns;
    const n = axis.count;
    const cells = this.#heads.flatMap(({ head }, k) => Array.from({ length: n }, (_, i) => {
      const weight = heads[k * n + i];
      const tip = () => t('pairInMap', { map: `L${l}H${head}`, ...this.#pairValues(item, i), n: weightText(weight) });
      return svg('rect', {
        x: x[i], y: k * row + 1, width: w[i], height: row - 2, rx: 1.5,
        fill: axis.shown(i) ? gaze(weight, axis.special(i)) : 'none', onclick: () => context.set({ h: head }), ...withTip(tip),
      });
    }));
    const at = this.#heads.findIndex(map => map.head === h);
    const frame = at >= 0 && svg('rect', {
      class: 'chosen', x: begin - 3, y: at * row - 0.5, width: end - begin + 6, height: row + 1, rx: 2,
    });
    this.#strip.replaceChildren(...cells, ...(frame ? [frame] : []));
    this.#drawStripTexts(item, l, h);
  }

  #pairValues(item, other) {
    const axis = this.#context.axis();
    const [a, b] = isIn(this.#context) ? [other, item] : [item, other];
    return { a: axis.label(a), b: axis.label(b) };
  }

  #drawStripTexts(item, l, h) {
    const axis = this.#context.axis();
    const specials = new Set(Array.from({ length: axis.count }, (_, i) => (axis.special(i) ? axis.label(i) : '')).filter(Boolean));
    this.#stripTitle.replaceChildren(rich('strip', { w: wordElement(axis.label(item)), n: this.#heads.length, l }));
    this.#stripNote.replaceChildren(t('narrowEnd'), specials.size ? rich('greySpecial', { list: listOf([...specials], 'andNames') }) : '');
    for (const label of this.#labels) {
      const head = Number(label.dataset.head);
      label.setAttribute('aria-pressed', String(head === h));
      label.setAttribute('aria-label', t('layerHead', { l, h: head }));
    }
  }

  destroy() {
    cancelAnimationFrame(this.#frame);
  }
}
