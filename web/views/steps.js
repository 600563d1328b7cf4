// Steps: how a word comes to give another its weight. One table; a row is a key on its way through score, scale, softmax, mix.
import { gaze } from '../colour.js';
import { radioGroup, toggle } from '../controls.js';
import { el, keepFocus, wordElement } from '../dom.js';
import { countText, rich, t, weightText } from '../i18n.js';
import { pictureOf } from '../picture.js';
import { precisionNote } from '../precision.js';
import { bar, barRows, strip } from './steps_pictures.js';
import { ownDivisor, rowsOf, stepsOf } from './steps_numbers.js';

const LONGEST = 2048;        // tokens of a text whose steps are shown: a row of an explanation has three vectors a key
const MOST_ROWS = 40;        // rows of the table; of a longer text the heaviest
const SATURATED = 0.06;      // norm of the gradient under which next to nothing can still be learned
const SNAP = 0.12;           // distance within which the slider takes the model's own divisor
const MOST = 5;              // log2 of the slider's largest divisor
const STEPS = [1, 2, 3, 4];

/** A score: two digits, a true minus. */
function scoreText(x) {
  if (x === -Infinity) return '−∞';
  return `${x < 0 ? '−' : ''}${Math.abs(x).toFixed(2)}`;
}

const largest = vectors => vectors.reduce((most, v) => v.reduce((m, x) => Math.max(m, Math.abs(x)), most), 0) || 1;

class StepsView {
  #context;
  #box;
  #explanation = null;
  #asked = 0;          // counts requests: an older answer is not drawn
  #step = 3;           // the column that a phone shows
  #parts = null;       // elements of the table's frame, which stay while numbers change

  constructor(root, context) {
    this.#context = context;
    this.#box = el('div', { class: 'steps' });
    root.replaceChildren(this.#box);
  }

  async update(state, change) {
    const isNew = ['w', 'l', 'h'].some(key => change.has(key)) || !this.#explanation;
    if (isNew && !(await this.#ask(state))) return;
    if (isNew || ['lang', 'size', 'th'].some(key => change.has(key)) || !this.#parts) this.#build();
    this.#draw();
  }

  /** Whether there is something to draw. */
  async #ask({ w, l, h }) {
    const { source, look, signal } = this.#context;
    const asked = ++this.#asked;
    this.#explanation = null;
    this.#parts = null;
    if (look.tokens.length > LONGEST) return this.#showEmpty('stepsLong', { n: countText(look.tokens.length), most: countText(LONGEST) });
    if (h === 0) {
      const { head } = look.sharpest(l);
      return this.#showEmpty('stepsMean', { l }, [t('stepsOpenHead', { h: head }), () => this.#context.set({ h: head })]);
    }
    const explanation = await source.explain({ look: look.id, layer: l, head: h, token: w }, { signal });
    if (asked !== this.#asked) return false;
    this.#explanation = explanation;
    return explanation ? true : this.#showEmpty('stepsNone', { l });
  }

  #showEmpty(key, values, action) {
    this.#context.lead(t('stepsEmpty'), t(key, values));
    this.#box.replaceChildren(
      this.#editor() ?? '',
      action ? el('div', { class: 'actions' }, el('button', { type: 'button', class: 'btn', onclick: action[1] }, action[0])) : '');
    return false;
  }

  get #axis() {
    return this.#context.look.axis({ pieces: true });
  }

  /** Sizes of the columns' pictures. */
  #sizes() {
    const width = this.#box.clientWidth;
    const phone = this.#context.narrow();
    const wide = width > 1000;
    return {
      phone, width,
      height: phone ? 25 : innerHeight > 850 ? 23 : innerHeight > 800 ? 20 : 18,
      key: phone ? 64 : wide ? 112 : 56,
      value: phone ? width - 190 : wide ? 168 : 88,
      dot: phone ? width - 240 : wide ? 138 : 72,
      score: phone ? width - 180 : wide ? 138 : 72,
      weight: phone ? width - 180 : wide ? 168 : 96,
    };
  }

  // The frame of the table, whose slider must stay where it is while it is dragged.
  #build() {
    const sizes = this.#sizes();
    const label = this.#axis.label(this.#explanation.token);
    const query = this.#explanation.query;
    const parts = {
      body: el('tbody'), facts: el('div', { class: 'facts' }), formula: el('small'), sum: el('td', { class: 'step-3 number', colspan: 2 }),
      out: el('td', { class: 'step-4', colspan: 2 }), foot: el('td', { class: 'step-1', colspan: 3 }), slide: this.#slider(),
      products: el('div', { class: 'products' }),
    };
    const column = (n, span, formula, extra) => el('th', { scope: 'col', class: `step-${n}`, colspan: span },
      el('h2', {}, el('i', {}, n), t(`steps${n}`), ' ', formula),
      el('span', { class: 'what' }, rich(`steps${n}What`, { w: wordElement(label) })), extra);
    const queryLine = el('div', { class: 'facts query' }, el('span', {}, rich('stepsQueryOf', { w: wordElement(label) })),
      strip(query, Math.min(sizes.value, 150), 18));
    const small = key => el('small', {}, t(key));
    const gap = () => el('td', { class: 'gap' });
    parts.table = el('table', { 'data-step': this.#step },
      el('caption', { class: 'unseen' }, t('stepsTable')),
      el('thead', {}, el('tr', {}, el('td'),
        column(1, 3, small('steps1Formula'), queryLine), gap(), column(2, 2, parts.formula, parts.slide.root), gap(),
        column(3, 2, small('steps3Formula'), parts.facts), gap(),
        column(4, 2, small('steps4Formula'), el('div', { class: 'facts' }, t('stepsValue'))))),
      parts.body,
      el('tfoot', {}, el('tr', {}, el('td'), parts.foot, gap(), el('td', { class: 'step-2', colspan: 2 }), gap(), parts.sum, gap(), parts.out)));
    this.#parts = parts;
    keepFocus(this.#box, () => this.#box.replaceChildren(this.#editor() ?? '', this.#tabs(), parts.table, parts.products));
  }

  // The sentence, to be edited where it is looked at.
  #editor() {
    const { source, look, state, setText } = this.#context;
    if (!source.canEdit || look.text.length > 400) return null;
    const input = el('input', { type: 'text', class: 'sentence', value: look.text, dir: 'auto', 'aria-label': t('stepsEdit'), 'data-key': 'sentence', spellcheck: 'false' });
    const look_ = () => {
      const text = input.value.trim();
      if (text && text !== look.text) setText(text, { w: state().w });
    };
    input.addEventListener('keydown', event => {
      if (event.key === 'Enter') look_();
      else if (event.key === 'Escape') input.value = look.text;
      else return;
      event.stopPropagation();
    });
    return el('div', { class: 'edit' }, input,
      el('button', { type: 'button', class: 'btn', 'data-key': 'sentence-look', onclick: look_ }, t('look')));
  }

  #tabs() {
    const choose = n => {
      this.#step = n;
      this.#parts.table.dataset.step = n;
      tabs.replaceWith(this.#tabs());
    };
    const tabs = el('div', { class: 'step-tabs' },
      radioGroup(t('stepsTabs'), STEPS.map(n => [n, `${n} ${t(`steps${n}`)}`]), this.#step, choose));
    return tabs;
  }

  #slider() {
    const { set } = this.#context;
    const own = ownDivisor(this.#explanation);
    const input = el('input', {
      type: 'range', min: 0, max: Math.max(MOST, Math.ceil(Math.log2(own))), step: 0.05, 'aria-label': t('stepsDivisor'), 'data-key': 'divisor',
    });
    input.addEventListener('input', () => {
      const divisor = 2 ** Number(input.value);
      set({ dv: Math.abs(divisor - own) < SNAP ? null : Number(divisor.toFixed(4)) }, { replace: true });
    });
    const off = el('button', { type: 'button', 'data-key': 'divisor-off', onclick: () => set({ dv: 1 }) }, t('stepsOff'));
    const root = el('button', { type: 'button', 'data-key': 'divisor-own', onclick: () => set({ dv: null }) }, this.#ownName());
    return { root: el('div', { class: 'slide' }, off, input, root), input, off, own: root };
  }

  /** √32, where the model divides by that. */
  #ownName() {
    const own = ownDivisor(this.#explanation);
    const width = this.#explanation.query.length;
    return Math.abs(own * own - width) < 1e-3 * width ? `√${width}` : own.toFixed(2);
  }

  #draw() {
    const { state, look } = this.#context;
    const { dv, ca, t: target } = state();
    const explanation = this.#explanation;
    const steps = stepsOf(explanation, { divisor: dv, causal: !!ca });
    const chosen = target ?? this.#axis.target(steps.weights, explanation.token);
    const scene = { explanation, steps, chosen, sizes: this.#sizes(), look };
    this.#drawHead(steps, dv ?? ownDivisor(explanation), dv == null);
    this.#drawBody(scene);
    this.#drawFoot(scene);
    this.#drawProducts(scene);
    this.#lead(scene);
  }

  #lead({ explanation, steps, chosen }) {
    const word = j => wordElement(this.#axis.label(j));
    this.#context.lead(
      rich('stepsAsk', { w: word(explanation.token), n: weightText(steps.weights[chosen]), t: word(chosen) }),
      rich('stepsSay', { w: word(explanation.token) }));
  }

  #drawHead({ entropy, gradient }, divisor, isOwn) {
    const { slide, formula, facts } = this.#parts;
    slide.input.value = Math.log2(divisor);
    slide.input.setAttribute('aria-valuetext', divisor.toFixed(2));
    slide.off.setAttribute('aria-pressed', String(divisor === 1));
    slide.own.setAttribute('aria-pressed', String(isOwn));
    formula.textContent = `÷ ${isOwn && this.#ownName().startsWith('√') ? `${this.#ownName()} = ` : ''}${divisor.toFixed(2)}`;
    const bold = text => el('b', {}, text);
    facts.replaceChildren(
      gradient < SATURATED ? el('span', { class: 'warn' }, t('stepsSaturated'), ' · ') : '',
      rich('stepsSpread', { k: bold(Math.exp(entropy).toFixed(1)) }), ' · ', rich('stepsGradient', { g: bold(gradient.toFixed(3)) }));
  }

  #drawBody({ explanation, steps, chosen, sizes }) {
    const { keys } = explanation;
    const scales = {
      domain: [Math.min(0, ...steps.dots), Math.max(1, ...steps.dots)],
      key: keys[0].key ? largest(keys.map(key => key.key)) : 1,
      value: steps.output ? largest(keys.map(key => key.value)) : 1,
    };
    const shown = rowsOf(steps.weights, MOST_ROWS, [...new Set([explanation.token, chosen])]);
    const rows = shown.map(j => this.#row(j, { explanation, steps, chosen, sizes, scales }));
    if (shown.length < keys.length) rows.push(this.#restRow(steps.weights, shown));
    if (explanation.sink) rows.push(this.#sinkRow(explanation.sink, steps.sinkWeight, sizes));
    this.#parts.body.style.setProperty('--row', `${sizes.height}px`);
    keepFocus(this.#parts.body, () => this.#parts.body.replaceChildren(...rows));
  }

  #row(j, { explanation, steps, chosen, sizes, scales }) {
    const key = explanation.keys[j];
    const { height } = sizes;
    const [dot, score, weight] = [steps.dots[j], steps.scores[j], steps.weights[j]];
    const special = this.#axis.special(j);
    const choose = () => this.#context.set({ t: j });
    const sign = x => (x < 0 ? 'var(--a)' : 'var(--b)');
    const cell = (step, ...children) => el('td', { class: `step-${step}` }, ...children);
    const number = (step, text, strong = false) => el('td', { class: `step-${step} number${strong ? ' strong' : ''}` }, text);
    const gap = () => el('td', { class: 'gap' });
    const classes = [j === chosen && 'chosen', score === -Infinity && 'hidden-key'].filter(Boolean).join(' ');
    return el('tr', { class: classes || null, onclick: choose },
      el('th', { scope: 'row', class: special ? 'special' : null },
        el('button', { type: 'button', 'aria-pressed': String(j === chosen), tabindex: j === chosen ? 0 : -1, 'data-key': `row-${j}`, dir: 'auto', onclick: choose },
          this.#axis.label(j))),
      cell(1, key.key && strip(key.key, sizes.key, height, scales.key)), cell(1, bar(dot, sizes.dot, height, scales.domain, sign(dot))),
      number(1, scoreText(dot)), gap(),
      cell(2, bar(score, sizes.score, height, scales.domain, sign(score))), number(2, scoreText(score)), gap(),
      cell(3, bar(weight, sizes.weight, height, [0, 1], gaze(Math.max(0.1, weight)))), number(3, weightText(weight), weight >= 0.1), gap(),
      cell(4, steps.output && strip(key.value.map(x => x * weight), sizes.value, height, scales.value)),
      number(4, sizes.phone ? weightText(weight) : ''));
  }

  #restRow(weights, shown) {
    const kept = new Set(shown);
    const rest = weights.reduce((sum, w, j) => (kept.has(j) ? sum : sum + w), 0);
    const empty = (n, span) => el('td', { class: `step-${n}`, colspan: span });
    const gap = () => el('td', { class: 'gap' });
    return el('tr', { class: 'rest' }, el('th', { scope: 'row' }, t('stepsRest', { n: countText(weights.length - shown.length) })),
      empty(1, 3), gap(), empty(2, 2), gap(), empty(3, 1), el('td', { class: 'step-3 number' }, weightText(rest)), gap(), empty(4, 2));
  }

  // The head's sink takes part in the softmax alone.
  #sinkRow({ logit }, weight, sizes) {
    const cell = (step, span, ...children) => el('td', { class: `step-${step}`, colspan: span }, ...children);
    const number = (step, text) => el('td', { class: `step-${step} number` }, text);
    const gap = () => el('td', { class: 'gap' });
    return el('tr', { class: 'rest' }, el('th', { scope: 'row' }, t('stepsSink')),
      cell(1, 3), gap(), cell(2, 1), number(2, scoreText(logit)), gap(),
      cell(3, 1, bar(weight, sizes.weight, sizes.height, [0, 1], gaze(Math.max(0.1, weight)))), number(3, weightText(weight)), gap(),
      cell(4, 2));
  }

  #drawFoot({ explanation, steps, sizes }) {
    const { foot, sum, out } = this.#parts;
    const { state, set } = this.#context;
    const isOn = !!state().ca;
    keepFocus(foot, () => foot.replaceChildren(toggle(t('stepsCausal'), isOn, () => set({ ca: isOn ? 0 : 1 }))));
    sum.textContent = `Σ = ${steps.weights.reduce((a, b) => a + b, steps.sinkWeight ?? 0).toFixed(3)}`;
    const word = wordElement(this.#axis.label(explanation.token));
    if (steps.output) {
      const most = largest(explanation.keys.map(key => key.value));
      out.replaceChildren(strip(steps.output, sizes.value, 20, most), el('span', {}, rich('stepsOutput', { w: word })));
    } else {
      out.replaceChildren(t('stepsNoValues'));
    }
  }

  // The dot product of the chosen row, opened: q, k, and their products, which add up to it.
  #drawProducts({ explanation, steps, chosen, sizes }) {
    const { key } = explanation.keys[chosen];
    const { products } = this.#parts;
    if (!key) {
      products.replaceChildren();
      return;
    }
    const label = j => this.#axis.label(j);
    const n = scoreText(steps.dots[chosen]);
    const values = { d: explanation.query.length, n };
    const rows = [
      { label: t('stepsQueryOf', { w: label(explanation.token) }), values: explanation.query },
      { label: t('stepsKeyOf', { t: label(chosen) }), values: key },
      { label: t('stepsProduct'), values: explanation.query.map((q, d) => q * key[d]) },
    ];
    products.replaceChildren(
      el('h3', {}, rich('stepsProducts', { ...values, t: wordElement(label(chosen)) }), el('small', {}, precisionNote(this.#context.source))),
      barRows(rows, {
        width: sizes.width, rowHeight: sizes.phone ? 34 : innerHeight > 950 ? 32 : innerHeight > 850 ? 28 : innerHeight > 800 ? 20 : 14, labelWidth: sizes.phone ? 0 : 104,
        label: t('stepsProducts', { ...values, t: label(chosen) }),
      }));
  }

  // Up and down the rows that are shown.
  #moveRow(by) {
    if (!this.#parts) return false;
    const buttons = [...this.#parts.body.querySelectorAll('th button')];
    const at = buttons.findIndex(button => button.getAttribute('aria-pressed') === 'true');
    const next = buttons[Math.max(0, Math.min(buttons.length - 1, at + by))];
    const token = Number(next.dataset.key.slice('row-'.length));
    this.#context.set({ t: token }, { replace: true });
    this.#parts.body.querySelector(`[data-key="row-${token}"]`)?.focus({ preventScroll: false });
    return true;
  }

  keys = [
    { key: 'ArrowUp', labelKey: 'stepsKeyRow', always: true, run: event => this.#unlessSlider(event, -1) },
    { key: 'ArrowDown', labelKey: 'stepsKeyRow', always: true, run: event => this.#unlessSlider(event, 1) },
    { key: 'o', labelKey: 'stepsKeyOff', run: () => this.#context.set({ dv: this.#context.state().dv === 1 ? null : 1 }) },
    { key: 'c', labelKey: 'stepsKeyCausal', run: () => this.#context.set({ ca: this.#context.state().ca ? 0 : 1 }) },
  ];

  #unlessSlider(event, by) {
    return event.target.matches?.('input') ? false : this.#moveRow(by);
  }

  svg = () => pictureOf(this.#box);
}

export const view = {
  id: 'steps',
  titleKey: 'view.steps',
  mount(root, context) {
    const steps = new StepsView(root, context);
    return { update: (state, change) => steps.update(state, change), destroy: () => {}, keys: steps.keys, svg: steps.svg, options: [] };
  },
};
