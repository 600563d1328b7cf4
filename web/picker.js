// The head picker: a cell for each head and, at the end of a layer, for the mean of its heads; coloured by the weight between
// the chosen word and its target, so that one pair is seen in every head at once.
import { gazeAt } from './colour.js';
import { el, keepFocus, withTip, wordElement } from './dom.js';
import { rich, t, weightText } from './i18n.js';
import { legend, longLegend } from './legend.js';

const NUMBERED = 16;  // heads up to which each column has its number; beyond, every fourth

const mapLabel = (l, h) => (h ? t('layerHead', { l, h }) : t('layerMean', { l }));

export class Picker {
  element = el('div', { class: 'picker', role: 'group' });
  note = el('div', { class: 'picknote' });
  #scene = null;
  #cells = new Map();  // 'layer.head' -> its button
  #heads = [];         // in order of columns; 0, the mean, last
  #asked = 0;

  constructor() {
    this.element.addEventListener('keydown', event => this.#key(event));
  }

  /** Draws the grid of a look, without colours. */
  #build(scene) {
    const { look } = scene;
    const heads = Array.from({ length: look.heads }, (_, i) => i + 1);
    const numbered = h => look.heads <= NUMBERED || h % 4 === 0 || h === 1;
    this.#heads = [...heads, 0];
    this.#cells.clear();
    const head = [el('span'), heads.map(h => el('span', {}, numbered(h) ? h : '')), el('span'),
      el('span', { title: t('meanOf', { n: look.heads }) }, 'µ')];
    const rows = look.layers.map(l => [el('span', { class: 'layer' }, l), heads.map(h => this.#cell(l, h)), el('span'), this.#cell(l, 0)]);
    this.element.setAttribute('aria-label', t('head'));
    this.element.style.setProperty('--heads', look.heads);
    this.element.classList.toggle('dense', look.heads > NUMBERED);
    this.element.replaceChildren(...[head, rows].flat(Infinity));
  }

  #cell(l, h) {
    if (h && !this.#scene.look.map(l, h)) return el('span');
    const cell = el('button', {
      type: 'button', tabindex: '-1', 'data-key': `${l}.${h}`,
      onclick: () => this.#scene.set({ l, h }),
      ...withTip(() => cell.getAttribute('aria-label')),
    });
    this.#cells.set(`${l}.${h}`, cell);
    return cell;
  }

  async update(scene, change) {
    const fresh = this.#scene !== scene || change.has('lang');
    this.#scene = scene;
    if (fresh) keepFocus(this.element, () => this.#build(scene));
    this.#markChosen();
    const asked = ++this.#asked;
    const pair = await this.#pair(scene);
    if (asked === this.#asked) this.#colour(scene, pair);
  }

  /** The chosen word and its target as { from, to, weights by cell }. */
  async #pair(scene) {
    const axis = scene.axis();
    const item = scene.item();
    const target = scene.target(await scene.row());
    const [from, to] = scene.state().d === 'in' ? [target, item] : [item, target];
    const data = await scene.weights.pair({ axis, from, to });
    const weights = new Map(scene.look.maps.map((map, m) => [`${map.layer}.${map.head}`, data[m]]));
    for (const l of scene.look.layers) {
      const own = scene.look.mapsOf(l).map(map => weights.get(`${l}.${map.head}`));
      weights.set(`${l}.0`, own.reduce((sum, w) => sum + w, 0) / own.length);
    }
    return { a: axis.label(from), b: axis.label(to), weights };
  }

  #markChosen() {
    const { l, h } = this.#scene.state();
    for (const [key, cell] of this.#cells) {
      const chosen = key === `${l}.${h}`;
      cell.setAttribute('aria-pressed', String(chosen));
      cell.tabIndex = chosen ? 0 : -1;
    }
  }

  #colour(scene, { a, b, weights }) {
    for (const [key, cell] of this.#cells) {
      const [l, h] = key.split('.').map(Number);
      cell.style.backgroundColor = gazeAt(scene.shade(weights.get(key)));
      cell.setAttribute('aria-label', t('pickCell', { map: mapLabel(l, h), a, b, n: weightText(weights.get(key)) }));
    }
    const width = this.element.clientWidth || 240;
    this.note.replaceChildren(
      el('span', {}, rich('pickNote', { a: wordElement(a), b: wordElement(b) })),
      scene.long() ? longLegend(width) : legend(width),
      scene.long() ? el('span', {}, t('legendLong')) : '');
  }

  #key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const { layers } = this.#scene.look;
    const { l, h } = this.#scene.state();
    const layer = layers[(layers.indexOf(l) + step[0] + layers.length) % layers.length];
    const columns = this.#heads.filter(head => this.#cells.has(`${layer}.${head}`));
    const at = Math.max(0, columns.indexOf(h));
    const head = columns[(at + step[1] + columns.length) % columns.length];
    this.#scene.set({ l: layer, h: head }, { replace: true });
    this.#cells.get(`${layer}.${head}`).focus();
  }
}
