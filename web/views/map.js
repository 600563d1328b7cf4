// Map: every weight of a head, from 12 words to 100,000 × 100,000 tokens. Overview first, exact tiles as one goes in.
import { inksOf } from '../colour.js';
import { el } from '../dom.js';
import { countText, rich, t, weightText } from '../i18n.js';
import { pictureOf } from '../picture.js';
import { precisionNote } from '../precision.js';
import { Camera } from './map_camera.js';
import { listen } from './map_gestures.js';
import { MapGrid } from './map_grid.js';
import { MapPainter } from './map_paint.js';
import { MapReadout } from './map_readout.js';
import { TileStore } from './map_tiles.js';

const SAVED_AFTER = 200;   // ms that the camera rests before the URL has it
const READ_AFTER = 60;     // ms that the pointer rests before what is not here is asked for
const FAR = 10;            // cells that an arrow moves with Shift
const PICTURE_SCALE = 3;   // pixels a px of the map in a saved picture
const OVERVIEW = 480;      // px of the overview's canvas
const COLUMNS_UP_TO = 256; // items whose columns are summed: the map is then one tile

const rgbOf = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));

class MapView {
  #context;
  #grid = null;
  #camera = new Camera();
  #store = new TileStore(() => this.#draw(), error => this.#tileFailed(error));
  #canvas = el('canvas', { tabindex: '0', role: 'application', 'data-key': 'map' });
  #painter = new MapPainter(this.#canvas);
  #overview = el('canvas', { class: 'overview', width: OVERVIEW, height: OVERVIEW, 'aria-hidden': 'true' });
  #overviewPart = el('section', { class: 'overview-part' });
  #side = el('div', { class: 'map-side' });
  #zooms = el('div', { class: 'zooms', 'data-picture': 'no' });
  #root;
  #readout;
  #at = null;            // [row, col] that is read
  #hovering = false;
  #pointed = 0;          // counts what was pointed at: an older answer does not take its place
  #frame = 0;
  #saving = 0;
  #reading = 0;
  #rowShown = '';
  #settled = null;       // resolves update() with the first picture of a map
  #failure = '';
  #signal = new AbortController();
  #resized = new ResizeObserver(() => this.#grid && this.#layout());

  constructor(root, context) {
    this.#context = context;
    this.#root = el('div', { class: 'map' },
      el('div', { class: 'map-box' }, this.#canvas),
      el('div', { class: 'map-beside' }, this.#zooms, this.#side, this.#overviewPart));
    root.replaceChildren(this.#root);
    this.#readout = new MapReadout(this.#side);
    listen(this.#canvas, {
      hover: (x, y) => this.#hover(x, y),
      leave: () => this.#leave(),
      click: (x, y) => this.#choose(this.#cellAt(x, y)),
      drag: (dx, dy) => this.#move(() => this.#camera.moveBy(dx, dy)),
      zoom: (factor, x, y) => this.#zoomAt(factor, x, y),
    });
    this.#canvas.addEventListener('keydown', event => this.#key(event));
    this.#overview.addEventListener('pointerdown', event => this.#jump(event));
    this.#overview.addEventListener('pointermove', event => event.buttons && this.#jump(event));
    this.#resized.observe(this.#canvas.parentElement);
  }

  async update(state, change) {
    const isNew = ['l', 'h', 'p', 'a', 'f'].some(key => change.has(key));
    if (isNew || change.has('th')) this.#showGrid();
    if (isNew || change.has('lang')) this.#drawTexts();
    if (['w', 't'].some(key => change.has(key)) || isNew) await this.#takeChoice();
    this.#layout();
    if (['z', 'zx', 'zy'].some(key => change.has(key)) && !this.#saving) this.#camera.fromState(state);
    this.#draw();
    if (!isNew) return;
    this.#settled?.resolve();
    await new Promise((resolve, reject) => { this.#settled = { resolve, reject }; });
  }

  #showGrid() {
    this.#grid = new MapGrid(this.#context);
    const inks = inksOf(document.documentElement);
    this.#painter.setInks(inks);
    this.#store.show(this.#grid, { aside: rgbOf(inks.paper), hidden: rgbOf(inks.line) });
    this.#readout.setGrid(this.#grid);
    this.#rowShown = '';
    this.#overviewPart.hidden = this.#grid.count <= COLUMNS_UP_TO;
    this.#overviewPart.replaceChildren(el('h2', {}, t('mapOverview')), this.#overview);
  }

  #drawTexts() {
    const { mapName, lead } = this.#context;
    const { count, byItem } = this.#grid;
    const n = countText(count);
    const finding = byItem
      ? rich('mapSay', { n, map: mapName(), what: t(this.#grid.axis.pieces ? 'mapPieces' : 'mapWords') })
      : rich('mapSayLong', { n, m: countText(count * count), map: mapName() });
    finding.append(precisionNote(this.#context.source) || (byItem ? t('mapAllExact') : ''));
    lead(t('mapAsk'), finding);
    this.#canvas.setAttribute('aria-label', t('mapLabel', { n, map: mapName() }));
    this.#readout = new MapReadout(this.#side);
    this.#readout.setGrid(this.#grid);
    this.#rowShown = '';
    const button = (key, label, run) =>
      el('button', { type: 'button', class: 'btn', 'data-key': key, 'aria-label': t(key), onclick: run }, label);
    this.#zooms.replaceChildren(
      button('mapIn', '+', () => this.#zoomAt(2)), button('mapOut', '−', () => this.#zoomAt(0.5)),
      button('mapFit', t('mapFitShort'), () => this.#fit()));
  }

  // The cell of the chosen word and its target.
  async #takeChoice() {
    const context = this.#context;
    const grid = this.#grid;
    const state = context.state();
    const row = grid.axis.itemOf(state.w);
    const pointed = ++this.#pointed;
    if (state.t != null) {
      this.#at = [row, grid.axis.itemOf(state.t)];
    } else {
      const { data } = await grid.block([row, row + 1], [0, grid.count], 1, context.signal);
      if (pointed !== this.#pointed) return;
      this.#at = [row, grid.axis.target(data, row)];
    }
    this.#read();
  }

  #layout() {
    const { side } = this.#painter.layout(this.#grid);
    this.#camera.resize(this.#grid.count, side);
    this.#draw();
  }

  #draw() {
    if (this.#frame || !this.#grid) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const scene = { grid: this.#grid, camera: this.#camera, store: this.#store, at: this.#at };
      const seen = this.#painter.draw(scene);
      if (!this.#overviewPart.hidden) this.#painter.drawOverview(this.#overview, scene);
      this.#say(seen);
      if (seen.missing === 0) this.#settle();
      if (this.#at) this.#showPair();
    });
  }

  #settle() {
    this.#settled?.resolve();
    this.#settled = null;
    this.#showColumns();
  }

  #tileFailed(error) {
    if (this.#settled) {
      this.#settled.reject(error);
      this.#settled = null;
    } else {
      this.#failure = error.message;
      this.#draw();
    }
  }

  #say({ missing, level }) {
    const cells = level === 0 ? t('mapExact') : t('mapPooled', { k: countText(1 << level) });
    const waits = this.#failure ? t('mapFailed', { e: this.#failure }) : missing > 0 ? t('mapWaits') : '';
    this.#failure = '';
    this.#readout.setStatus([cells, waits].filter(Boolean).join(' '));
    this.#root.dataset.missing = missing;
  }

  // Readout.

  #showPair() {
    const [row, col] = this.#at;
    const weight = this.#store.weight(row, col) ?? this.#asked(row, col);
    this.#readout.setPair(this.#grid, this.#at, weight);
  }

  #exact = null;  // {row, data}: the row that was read, exact

  #asked(row, col) {
    return this.#exact?.name === this.#grid.name && this.#exact.row === row ? this.#exact.data[col] : undefined;
  }

  #read() {
    if (!this.#at) return;
    this.#showPair();
    this.#showColumns();
    const [row] = this.#at;
    const name = `${this.#grid.name} ${row}`;
    if (this.#rowShown === name) this.#readout.setRow(this.#exact.data, this.#at, t('mapRow'));
    clearTimeout(this.#reading);
    this.#reading = setTimeout(() => this.#readRow(row), this.#rowShown === '' ? 0 : READ_AFTER);
  }

  async #readRow(row) {
    const grid = this.#grid;
    try {
      const { data } = await grid.block([row, row + 1], [0, grid.count], 1, this.#signal.signal);
      if (grid !== this.#grid || row !== this.#at?.[0]) return;
      this.#exact = { name: grid.name, row, data };
      this.#rowShown = `${grid.name} ${row}`;
      this.#readout.setRow(data, this.#at, t('mapRow'));
      this.#showPair();
    } catch (error) {
      if (error.name !== 'AbortError') this.#tileFailed(error);
    }
  }

  #showColumns() {
    const { count } = this.#grid;
    if (count > COLUMNS_UP_TO || !this.#at || this.#store.weight(0, 0) === undefined) return;
    const sums = new Float64Array(count);
    for (let i = 0; i < count; i++) for (let j = 0; j < count; j++) sums[j] += this.#store.weight(i, j);
    this.#readout.setColumns(sums, this.#at);
  }

  // What hands do.

  #cellAt(x, y) {
    const { left, top } = this.#painter.box;
    return this.#camera.itemAt(x - left, y - top);
  }

  #hover(x, y) {
    const cell = this.#cellAt(x, y);
    if (!cell) return;
    this.#hovering = true;
    this.#point(cell);
  }

  // The pointer has gone: the chosen cell is read again.
  #leave() {
    if (!this.#hovering) return;
    this.#hovering = false;
    this.#takeChoice().then(() => this.#draw(), () => {});
  }

  #point(cell) {
    if (this.#at && cell[0] === this.#at[0] && cell[1] === this.#at[1]) return;
    this.#pointed++;
    this.#at = cell;
    this.#draw();
    this.#read();
  }

  #choose(cell) {
    if (!cell) return;
    this.#at = cell;
    const token = item => this.#grid.axis.begin(item);
    this.#context.set({ w: token(cell[0]), t: token(cell[1]) });
  }

  #move(change) {
    change();
    this.#draw();
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => {
      this.#context.set(this.#camera.toState(), { replace: true });
      this.#saving = 0;
    }, SAVED_AFTER);
  }

  #zoomAt(factor, x, y) {
    const { left, top } = this.#painter.box;
    this.#move(() => this.#camera.zoom(factor, ...(x === undefined ? [] : [x - left, y - top])));
  }

  #fit() {
    this.#move(() => this.#camera.fit());
  }

  #jump(event) {
    const box = this.#overview.getBoundingClientRect();
    const place = (at, from) => ((at - from) / box.width) * this.#grid.count;
    this.#move(() => this.#camera.look(this.#camera.scale, [place(event.clientX, box.x), place(event.clientY, box.y)]));
  }

  // Arrows move the cell that is read; the map follows.
  #key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (event.key === 'Enter' && this.#at) this.#choose(this.#at);
    else if (step && this.#at && !event.ctrlKey && !event.metaKey && !event.altKey) this.#step(step, event.shiftKey ? FAR : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #step([rows, cols], by) {
    const within = at => Math.max(0, Math.min(this.#grid.count - 1, at));
    // From far out one weight is less than a pixel: a step is then a pixel.
    const far = by * Math.max(1, Math.round(1 / this.#camera.scale));
    const cell = [within(this.#at[0] + rows * far), within(this.#at[1] + cols * far)];
    this.#move(() => this.#camera.reveal(...cell));
    this.#point(cell);
    const { axis } = this.#grid;
    const weight = this.#store.weight(...cell);
    this.#context.announce(t('pairWeight', {
      a: axis.label(cell[0]), b: axis.label(cell[1]), n: weight === undefined ? '' : weightText(weight),
    }));
  }

  keys = [
    { key: '+', labelKey: 'mapKeyZoom', run: () => this.#zoomAt(2) },
    { key: '=', labelKey: 'mapKeyZoom', show: '', run: () => this.#zoomAt(2) },
    { key: '-', labelKey: 'mapKeyZoom', show: '−', run: () => this.#zoomAt(0.5) },
    { key: '0', labelKey: 'mapKeyFit', run: () => this.#fit() },
    { key: 'ArrowLeft', labelKey: 'mapKeyCell', show: '← ↑ → ↓', always: true, run: () => false },
    { key: 'Enter', labelKey: 'mapKeyChoose', always: true, run: () => false },
  ];

  // For a picture the map is drawn finer than the screen shows it, so that it prints.
  svg = () => {
    const scene = { grid: this.#grid, camera: this.#camera, store: this.#store, at: this.#at };
    this.#painter.layout(this.#grid, PICTURE_SCALE);
    this.#painter.draw(scene);
    const picture = pictureOf(this.#root);
    this.#painter.layout(this.#grid);
    this.#painter.draw(scene);
    return picture;
  };

  destroy = () => {
    this.#resized.disconnect();
    this.#store.stop();
    this.#signal.abort();
    this.#settled?.resolve();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#saving);
    clearTimeout(this.#reading);
  };
}

export const view = {
  id: 'map',
  titleKey: 'view.map',
  mount(root, context) {
    const map = new MapView(root, context);
    return { update: (state, change) => map.update(state, change), destroy: map.destroy, keys: map.keys, svg: map.svg };
  },
};
