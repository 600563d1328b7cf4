// Heads: every head's map at once, the number that `look` prints for each, and the chosen one large in the rail.
import { gazeTable } from '../colour.js';
import { radioGroup } from '../controls.js';
import { el, wordElement } from '../dom.js';
import { distanceText, percentText, rich, t } from '../i18n.js';
import { cutsAll, hides } from '../look.js';
import { strong } from './text_sentence.js';

const MOST_CELLS = 64;        // a side of a thumbnail
const COLUMN_NAMES = 22;      // px
const FEW_HEADS = 6;          // so few stand side by side, not over the whole width
const UNDER_TILE = 33;        // px: bar, number and gap
const MOST_REQUEST = 1 << 20; // cells that a request may ask for

/** The numbers that a tile may show: of a summary, its text and its share of what it can be at most. */
const NUMBERS = {
  entropy: { key: 'entropyHead', text: s => s.entropy.toFixed(2), share: s => s.entropy_normalised },
  special: { key: 'onSpecial', text: s => percentText(s.special_share), share: s => s.special_share },
  first: { key: 'onFirst', text: s => percentText(s.first_share), share: s => s.first_share },
  sink: { key: 'onSink', text: s => percentText(s.sink_share), share: s => s.sink_share },
  previous: { key: 'onPrevious', text: s => percentText(s.previous_share), share: s => s.previous_share },
  same: { key: 'onSame', text: s => percentText(s.same_share), share: s => s.same_share },
  next: { key: 'onNext', text: s => percentText(s.next_share), share: s => s.next_share },
  distance: { key: 'distance', text: s => distanceText(s.distance), share: (s, n) => s.distance / n },
};

/** Those of them that say something of a look. */
function numbersOf(look) {
  const silent = [look.firstAside ? 'special' : 'first', !look.sinks && 'sink', look.causal && 'next'];
  return Object.keys(NUMBERS).filter(id => !silent.includes(id));
}

/** Cells [side, side] of a map, of `step` items a side, of which the rows see nothing; `list`: what was knocked out. */
function hiddenOf(map, list, axis, step, side, tokens) {
  const hidden = new Uint8Array(side * side);
  const range = cell => [axis.begin(cell * step), axis.end(Math.min(axis.count, (cell + 1) * step) - 1)];
  for (let a = 0; a < side; a++) {
    for (let b = 0; b < side; b++) {
      hidden[a * side + b] = hides(map.score, range(a), range(b), tokens)
        || (step === 1 && cutsAll(list, map.score, range(a), range(b), tokens));
    }
  }
  return hidden;
}

/** Which cells of `step` items a side hold something that is set aside. */
function awayOf(axis, step) {
  const away = new Uint8Array(Math.ceil(axis.count / step));
  for (let i = 0; i < axis.count; i++) if (!axis.shown(i)) away[Math.floor(i / step)] = 1;
  return away;
}

/** Thumbnails [{side, data, away}] in the order of the maps: of items where all weights are in memory, else pooled over
 * tokens. */
async function thumbnails(context) {
  const { look, weights, source, signal } = context;
  const axis = context.axis();
  if (weights.whole && axis.count <= MOST_CELLS) {
    const all = [0, axis.count];
    const data = await weights.block({ axis, maps: look.maps, rows: all, keys: all });
    const away = awayOf(axis, 1);
    const hidden = perKind(look, (map, list) => hiddenOf(map, list, axis, 1, axis.count, look.tokens.length));
    return look.maps.map((map, m) => (
      { side: axis.count, data: data.subarray(m * axis.count ** 2, (m + 1) * axis.count ** 2), away, hidden: hidden(map) }));
  }
  const n = look.tokens.length;
  let step = 1;
  while (n / step > MOST_CELLS) step *= 2;
  const side = Math.ceil(n / step);
  const together = Math.max(1, Math.floor(MOST_REQUEST / (side * side)));
  const pictures = [];
  const tokens = look.axis({ pieces: true, aside: axis.aside, sink: axis.sink });
  const away = awayOf(tokens, step);
  const hidden = perKind(look, (map, list) => hiddenOf(map, list, tokens, step, side, n));
  for (let m = 0; m < look.maps.length; m += together) {
    const maps = look.maps.slice(m, m + together);
    const { data } = await source.weights({ look: look.id, maps, rows: [0, n], keys: [0, n], step }, { signal });
    maps.forEach((map, k) => pictures.push({ side, data: data.subarray(k * side * side, (k + 1) * side * side), away, hidden: hidden(map) }));
  }
  return pictures;
}

/** `make(map, cuts)` once for maps that rows see alike: what they see is the layer's, but for what was knocked out. */
function perKind(look, make) {
  const made = new Map();
  return map => {
    const list = look.cutsOf(map);
    const name = `${map.layer} ${list.map(one => look.report.blocked.indexOf(one))}`;
    if (!made.has(name)) made.set(name, make(map, list));
    return made.get(name);
  };
}

// What is set aside or not seen keeps its place and shows the paper.
function paint(canvas, { side, data, away, hidden }, context) {
  canvas.width = side;
  canvas.height = side;
  const paper = canvas.getContext('2d');
  const image = paper.createImageData(side, side);
  const table = gazeTable();
  for (let i = 0; i < data.length; i++) {
    if (away[Math.floor(i / side)] || away[i % side] || hidden?.[i]) continue;
    const colour = table[Math.round(context.shade(data[i]) * (table.length - 1))];
    image.data[4 * i] = colour[0];
    image.data[4 * i + 1] = colour[1];
    image.data[4 * i + 2] = colour[2];
    image.data[4 * i + 3] = 255;
  }
  paper.putImageData(image, 0, 0);
}

class Heads {
  picker = false;
  #root;
  #context;
  #grid = el('div', { class: 'hgrid', role: 'group' });
  #foot = el('div', { class: 'hfoot' });
  #large = el('canvas', { class: 'largemap', 'aria-hidden': 'true' });
  #tiles = new Map();   // 'layer.head' -> {button, canvas, bar, number, map, picture}
  #asked = 0;

  constructor(root, context) {
    this.#root = root;
    this.#context = context;
    root.append(this.#grid, this.#foot);
    context.rail.append(this.#large);
    this.#build();
  }

  keys = [
    ...[['ArrowLeft', 0, -1], ['ArrowRight', 0, 1], ['ArrowUp', -1, 0], ['ArrowDown', 1, 0]].map(([key, down, right]) => (
      { key, labelKey: 'keyTiles', always: true, run: () => this.#step(down, right) })),
    { key: 'Enter', labelKey: 'keyOpen', always: true, run: event => this.#openFrom(event) },
  ];

  #build() {
    const { look } = this.#context;
    const heads = Array.from({ length: look.heads }, (_, i) => i + 1);
    const cells = [el('span', { class: 'column' }), ...heads.map(h => el('span', { class: 'column' }, h))];
    for (const l of look.layers) {
      cells.push(el('span', { class: 'layer' }, el('span', { class: 'phone' }, t('layer'), ' '), l));
      for (const h of heads) cells.push(look.map(l, h) ? this.#tile(l, h) : el('span'));
    }
    this.#grid.style.setProperty('--heads', look.heads);
    this.#grid.classList.toggle('few', look.heads < FEW_HEADS);
    this.#grid.replaceChildren(...cells);
  }

  #tile(l, h) {
    const parts = { canvas: el('canvas', { 'aria-hidden': 'true' }), bar: el('b'), number: el('span'), map: this.#context.look.map(l, h) };
    parts.button = el('button', {
      type: 'button', class: 'tile', 'data-key': `${l}.${h}`, tabindex: '-1',
      onclick: () => this.#choose(l, h), ondblclick: () => this.#context.set({ v: 'text', l, h }),
    }, parts.canvas, el('span', { class: 'share' }, parts.bar), el('span', { class: 'number' }, parts.number));
    this.#tiles.set(`${l}.${h}`, parts);
    return parts.button;
  }

  // The first click chooses, the second opens.
  #choose(l, h) {
    const state = this.#context.state();
    if (state.l === l && state.h === h) this.#context.set({ v: 'text' });
    else this.#context.set({ l, h });
  }

  #openFrom(event) {
    if (event.target !== document.body && !event.target.matches('.tile')) return false;
    const [l, h] = event.target.matches('.tile') ? event.target.dataset.key.split('.').map(Number) : [];
    this.#context.set({ v: 'text', ...(l && { l, h }) });
    return true;
  }

  #step(down, right) {
    const { look } = this.#context;
    const { l, h } = this.#context.state();
    const layer = look.layers[(look.layers.indexOf(l) + down + look.layers.length) % look.layers.length];
    const heads = look.mapsOf(layer).map(map => map.head);
    const at = Math.max(0, heads.indexOf(h || 1));
    const head = heads[(at + right + heads.length) % heads.length];
    this.#context.set({ l: layer, h: head }, { replace: true });
    this.#tiles.get(`${layer}.${head}`).button.focus();
  }

  async update(state, change) {
    const asked = ++this.#asked;
    if (change.has('lang') && !change.has('v')) this.#build();
    this.#lead();
    this.#drawFoot(state);
    this.#fit();
    this.#mark(state);
    this.#drawNumbers(state);
    const redraw = ['v', 'th', 'p', 'a', 'f', 'lang'].some(key => change.has(key));
    if (redraw) {
      const pictures = await thumbnails(this.#context);
      if (asked !== this.#asked) return;
      this.#context.look.maps.forEach((map, m) => {
        const tile = this.#tiles.get(`${map.layer}.${map.head}`);
        tile.picture = pictures[m];
        paint(tile.canvas, tile.picture, this.#context);
      });
    }
    this.#drawLarge(state);
  }

  /** Tiles take their size from the room left, so that a window holds them all. */
  #fit() {
    const { layers } = this.#context.look;
    const used = this.#foot.offsetHeight + COLUMN_NAMES + 12;
    const room = (this.#root.clientHeight - used) / layers.length - UNDER_TILE;
    this.#grid.style.setProperty('--tile', `${Math.max(28, Math.floor(room))}px`);
  }

  #mark({ l, h }) {
    const focused = this.#tiles.has(`${l}.${h}`) ? `${l}.${h}` : [...this.#tiles.keys()].find(key => key.startsWith(`${l}.`));
    for (const [key, { button }] of this.#tiles) {
      button.setAttribute('aria-pressed', String(key === `${l}.${h}`));
      button.tabIndex = key === focused ? 0 : -1;
    }
  }

  // The number that the address names, if it says something of this look.
  #number(n) {
    return numbersOf(this.#context.look).includes(n) ? n : 'entropy';
  }

  #drawNumbers({ n }) {
    const { key, text, share } = NUMBERS[this.#number(n)];
    this.#grid.setAttribute('aria-label', t('view.heads'));
    for (const { button, bar, number, map } of this.#tiles.values()) {
      const shown = text(map.summary);
      number.textContent = shown;
      bar.style.width = `${Math.min(1, share(map.summary, map.cols)) * 100}%`;
      button.setAttribute('aria-label', t('tile', { map: t('layerHead', { l: map.layer, h: map.head }), what: t(key), n: shown }));
    }
  }

  #lead() {
    const map = this.#context.look.sharpest();
    const said = this.#context.look.firstAside ? 'sayHeadsFirst' : 'sayHeads';
    this.#context.lead(t('askHeads'), rich(said, {
      n: this.#context.look.maps.length, map: wordElement(t('layerHead', { l: map.layer, h: map.head })),
      h: strong(map.summary.entropy.toFixed(2)),
      s: strong(percentText(map.summary.special_share + map.summary.first_share)),
    }));
  }

  #drawFoot({ n }) {
    const choices = numbersOf(this.#context.look).map(id => [id, t(`number.${id}`)]);
    const group = radioGroup(t('headsShow'), choices, this.#number(n), id => this.#context.set({ n: id }, { replace: true }));
    const focused = this.#foot.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.#foot.replaceChildren(el('span', {}, t('headsLegend')), group);
    if (focused) this.#foot.querySelector('[aria-checked=true]').focus();
  }

  #drawLarge({ l, h }) {
    const own = [...this.#tiles.values()].filter(tile => tile.map.layer === l && (h === 0 || tile.map.head === h) && tile.picture);
    if (own.length === 0) return;
    const { side, away, hidden } = own[0].picture;
    const data = own[0].picture.data.map((_, i) => own.reduce((sum, tile) => sum + tile.picture.data[i], 0) / own.length);
    paint(this.#large, { side, data, away, hidden }, this.#context);
  }

  destroy() {
    this.#asked++;
  }
}

export const view = {
  id: 'heads',
  titleKey: 'view.heads',
  mount: (root, context) => new Heads(root, context),
};
