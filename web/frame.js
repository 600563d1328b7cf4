// The page around the views: it follows the URL, gets the look that the URL names, and keeps header, rail and view in step.
import { openCaveat } from './caveat.js';
import { setTheme } from './colour.js';
import { el, hideTip, keepFocus } from './dom.js';
import { languageTag, setLanguage, t } from './i18n.js';
import { openKeySheet, takeKey } from './keys.js';
import { Look } from './look.js';
import { Rail } from './rail.js';
import { SaveMenu } from './save_menu.js';
import { languageOf, onTheme, Scene, themeOf } from './scene.js';
import { chooseStart } from './start.js';
import { read, write } from './state.js';
import { showError, showLoading } from './states.js';
import { VIEWS } from './views.js';

const EXAMPLE = 'The animal didn\'t cross the street because it was too tired.';
const LOADING_SHOWN_AFTER = 150;   // ms; a sooner answer shows no other screen in between
const ANNOUNCED_AFTER = 500;       // ms that a finding has rested
const LONGEST_IN_URL = 8000;       // characters; a longer text is named by the look's id

// Columns are measured by these faces, so that nothing is laid out before they are there.
const FACES = ['20px Newsreader', 'italic 20px Newsreader', '14px "Instrument Sans"'];
const facesLoaded = () => Promise.allSettled(FACES.map(face => document.fonts.load(face)));

const byId = id => document.getElementById(id);

export class Frame {
  #source;
  #model = null;
  #scene = null;
  #mounted = null;
  #viewId = null;
  #opened = null;        // key of the text that is open
  #pasted = new Map();   // look id -> text too long for the URL, of this visit
  #abort = new AbortController();
  #announcing = 0;
  #stateShown = null;    // draws the state that stands in the view's place
  #rail;
  #save = new SaveMenu(byId('save'), () => ({ context: this.#scene, mounted: this.#mounted }));

  constructor(source) {
    this.#source = source;
    this.#rail = new Rail(document.querySelector('.rail'), this);
  }

  // What rail, states and scene may ask for.

  get canEdit() {
    return this.#source.canEdit;
  }

  get texts() {
    return this.#source.texts;
  }

  get limits() {
    return this.#model;
  }

  /** The text that the URL asks for, as far as it names it. */
  get askedText() {
    return this.#request(read()).text ?? '';
  }

  get rail() {
    return this.#rail.slot;
  }

  set = (patch, options) => {
    write(patch, options);
    this.#apply();
  };

  /** Looks at a text; what was chosen in the last one means nothing in it, but for a word where it was only changed. */
  setText = (text, { w = null } = {}) => {
    const chosen = { w, t: null, z: null, zx: null, zy: null, c: 0 };
    if (text.length <= LONGEST_IN_URL) this.set({ ...chosen, x: text, i: null });
    else this.#openPasted(text, chosen);
  };

  setIndex = s => this.set({ s, w: null, t: null, z: null, zx: null, zy: null });
  takeExample = () => this.set({ x: null, i: null, w: null, t: null });
  cutText = () => this.set({ c: 1 });
  editText = () => this.#rail.edit();
  again = () => this.#open(read());

  lead = (question, finding) => {
    byId('question').replaceChildren(question);
    byId('finding').replaceChildren(finding);
    document.title = `${byId('question').textContent} · Sightline`;
    this.announce(byId('finding').textContent);
  };

  announce = text => {
    clearTimeout(this.#announcing);
    this.#announcing = setTimeout(() => { byId('announcer').textContent = text; }, ANNOUNCED_AFTER);
  };

  start() {
    addEventListener('popstate', () => this.#apply());
    addEventListener('resize', () => requestAnimationFrame(() => this.#refresh(new Set(['size']))));
    addEventListener('keydown', event => takeKey(event, [...(this.#mounted?.keys ?? []), ...this.#keys()]));
    onTheme(() => this.#apply());
    byId('theme').addEventListener('click', () => this.#turnTheme());
    byId('language').addEventListener('click', () => this.#turnLanguage());
    byId('help').addEventListener('click', () => this.#openSheet());
    byId('why').addEventListener('click', openCaveat);
    document.querySelector('.skip').addEventListener('click', event => {
      event.preventDefault();  // the fragment is the page's state
      byId('main').focus();
    });
    this.#apply();
  }

  /** Brings the page in step with the URL. */
  #apply() {
    const asked = read();
    this.#drawShell(asked);
    this.#stateShown?.();
    const opened = JSON.stringify([asked.x, asked.i, asked.s, asked.c]);
    if (opened !== this.#opened) this.#open(asked);
    else this.#refresh();
  }

  #request({ x, i, s, c }) {
    if (!this.#source.canEdit) return { index: s };
    if (this.#pasted.has(i)) return { text: this.#pasted.get(i), truncate: !!c };
    return i ? { id: i } : { text: x ?? EXAMPLE, truncate: !!c };
  }

  #openPasted(text, chosen) {
    const id = `pasted-${this.#pasted.size + 1}`;
    this.#pasted.set(id, text);
    this.set({ ...chosen, x: null, i: id });
  }

  /** Gets the look that the URL names and shows it. */
  async #open(asked) {
    this.#opened = JSON.stringify([asked.x, asked.i, asked.s, asked.c]);
    this.#abort.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const waiting = setTimeout(() => this.#showState(showLoading, !this.#model), LOADING_SHOWN_AFTER);
    try {
      const request = this.#request(asked);
      if (request.text != null && !request.text.trim()) throw Object.assign(new Error(), { kind: 'empty' });
      const model = this.#model ?? this.#source.model({ signal });
      const [report, known] = await Promise.all([this.#source.look(request, { signal }), model, facesLoaded()]);
      this.#model = known;
      if (signal.aborted) return;
      await this.#begin(new Look(report), asked, signal);
      this.#nameById(asked.i, report.look);
    } catch (error) {
      this.#fail(error, signal);
    } finally {
      clearTimeout(waiting);
    }
  }

  // A pasted text is named by the server's id once there is one, so that the view can be shared.
  #nameById(i, id) {
    if (!this.#pasted.has(i) || !id) return;
    this.#pasted.set(id, this.#pasted.get(i));
    const state = write({ i: id }, { replace: true });
    this.#opened = JSON.stringify([state.x, state.i, state.s, state.c]);
  }

  async #begin(look, asked, signal) {
    const scene = new Scene({ source: this.#source, model: this.#model, look, signal, page: this });
    const start = await chooseStart(look, scene.weights, asked);
    if (signal.aborted) return;
    scene.start = start;
    this.#unmount();
    this.#stateShown = null;
    this.#scene = scene;
    scene.resolve(asked);
    this.#drawShell(asked);
    this.#refresh(new Set(Object.keys(scene.state())));
  }

  /** Updates rail and view; `more` are changes that the URL does not show. */
  #refresh(more = new Set()) {
    if (!this.#scene) return;
    const change = new Set([...this.#scene.resolve(read()), ...more]);
    hideTip();
    const entry = VIEWS.find(view => view.id === this.#scene.state().v) ?? VIEWS[0];
    if (entry.id !== this.#viewId) {
      this.#mount(entry);
      Object.keys(this.#scene.state()).forEach(key => change.add(key));
    }
    if (change.size === 0) return;
    this.#rail.update(this.#scene, this.#mounted, change);
    this.#update(change);
  }

  async #update(change) {
    const { signal } = this.#scene;
    try {
      await this.#mounted.update(this.#scene.state(), change);
      document.body.dataset.ready = this.#viewId;
    } catch (error) {
      this.#fail(error, signal);
    }
  }

  #mount({ id, module }) {
    this.#unmount();
    delete document.body.dataset.ready;
    this.#viewId = id;
    this.#mounted = module.mount(byId('view'), this.#scene);
    this.#save.update();
  }

  #unmount() {
    this.#mounted?.destroy();
    this.#mounted = null;
    this.#viewId = null;
    this.#rail.slot.replaceChildren();
    byId('view').replaceChildren();
  }

  #fail(error, signal) {
    if (error.name === 'AbortError' || signal.aborted) return;
    if (!error.kind) console.error(error);
    this.#showState(showError, error);
  }

  /** Shows a state in the place of the view. */
  #showState(show, detail) {
    this.#unmount();
    this.#scene = null;
    this.#stateShown = () => {
      show(byId('view'), this, detail);
      this.#rail.update(null, null, new Set());
    };
    this.#stateShown();
    this.#save.update();
    document.body.dataset.ready = 'state';
  }

  #drawShell(asked) {
    setLanguage(languageOf(asked));
    const theme = themeOf(asked);
    const root = document.documentElement;
    root.lang = languageTag();
    root.dataset.theme = theme;
    setTheme(theme);
    for (const e of document.querySelectorAll('[data-text]')) e.textContent = t(e.dataset.text);
    for (const e of document.querySelectorAll('[data-label]')) e.setAttribute('aria-label', t(e.dataset.label));
    const language = byId('language');
    language.textContent = t('language');
    language.lang = languageTag() === 'en' ? 'zh-Hans' : 'en';
    this.#drawModel();
    this.#drawViews(asked.v);
    this.#save.update();
  }

  #drawModel() {
    const model = this.#scene?.look.model ?? this.#model;
    const text = model ? t('model', { name: model.name, l: model.layers, h: model.heads }) : '';
    document.querySelector('.model').textContent = text;
  }

  #drawViews(current) {
    const shown = VIEWS.some(view => view.id === current) ? current : VIEWS[0].id;
    const buttons = VIEWS.map(({ id, key, module }) =>
      el('button', {
        type: 'button', 'data-key': id, 'aria-current': id === shown ? 'page' : null, onclick: () => this.set({ v: id }),
      }, t(module.titleKey), el('kbd', { 'aria-hidden': 'true' }, key)));
    const nav = document.querySelector('.views');
    keepFocus(nav, () => nav.replaceChildren(...buttons));
  }

  #turnTheme() {
    this.set({ th: themeOf(read()) === 'dark' ? 'light' : 'dark' }, { replace: true });
  }

  #turnLanguage() {
    this.set({ lang: languageOf(read()) === 'zh' ? 'en' : 'zh' }, { replace: true });
  }

  #openSheet() {
    openKeySheet(this.#mounted?.keys ?? [], this.#keys());
  }

  #step(patch) {
    this.set(patch, { replace: true });
  }

  // Steps along, in the URL without a step of history.

  #stepWord(by) {
    const axis = this.#scene.axis();
    const next = (this.#scene.item() + by + axis.count) % axis.count;
    this.#step({ w: axis.begin(next), t: null });
  }

  stepHead(by) {
    const { l, h } = this.#scene.state();
    const heads = [0, ...this.#scene.look.mapsOf(l).map(map => map.head)];
    this.#step({ h: heads[(heads.indexOf(h) + by + heads.length) % heads.length] });
  }

  stepLayer(by) {
    const { layers } = this.#scene.look;
    const at = layers.indexOf(this.#scene.state().l);
    this.#step({ l: layers[(at + by + layers.length) % layers.length] });
  }

  #toggle(key) {
    this.set({ [key]: this.#scene.state()[key] ? 0 : 1 });
  }

  #keys() {
    const open = VIEWS.map(({ id, key }) => ({ key, labelKey: 'keyViews', run: () => this.set({ v: id }) }));
    const always = [
      { key: '?', labelKey: 'keyHelp', run: () => this.#openSheet() },
      { key: 't', labelKey: 'keyTheme', run: () => this.#turnTheme() },
      { key: 'l', labelKey: 'keyLanguage', run: () => this.#turnLanguage() },
    ];
    if (this.canEdit) always.push({ key: 'e', labelKey: 'keyEdit', run: () => this.editText() });
    if (!this.#scene) return [...open, ...always];
    return [...open, ...this.#lookKeys(), ...always];
  }

  #lookKeys() {
    const { rtl } = this.#scene.look;
    const keys = [
      { key: 'ArrowLeft', labelKey: 'keyWord', always: true, run: () => this.#stepWord(rtl ? 1 : -1) },
      { key: 'ArrowRight', labelKey: 'keyWord', always: true, run: () => this.#stepWord(rtl ? -1 : 1) },
      { key: '[', labelKey: 'keyHead', run: () => this.stepHead(-1) },
      { key: ']', labelKey: 'keyHead', run: () => this.stepHead(1) },
      { key: '{', labelKey: 'keyLayer', run: () => this.stepLayer(-1) },
      { key: '}', labelKey: 'keyLayer', run: () => this.stepLayer(1) },
      { key: 'm', labelKey: 'keyMean', run: () => this.#turnMean() },
      { key: 'd', labelKey: 'keyDirection', run: () => this.set({ d: this.#scene.state().d === 'in' ? 'out' : 'in' }) },
      { key: 'p', labelKey: 'keyPieces', run: () => this.#toggle('p') },
      { key: 's', labelKey: 'keySpecial', run: () => this.#toggle('a') },
      { key: 'f', labelKey: 'keySink', run: () => this.#toggle('f') },
      { key: 'Escape', labelKey: 'keyLetGo', always: true, run: () => this.#step({ t: null }) },
    ];
    if (this.texts.length > 1) {
      keys.push({ key: '<', labelKey: 'keyText', run: () => this.stepText(-1) });
      keys.push({ key: '>', labelKey: 'keyText', run: () => this.stepText(1) });
    }
    return keys;
  }

  #lastHead = 1;

  #turnMean() {
    const { l, h } = this.#scene.state();
    if (h) this.#lastHead = h;
    this.set({ h: h === 0 ? (this.#scene.look.map(l, this.#lastHead) ? this.#lastHead : 1) : 0 });
  }

  stepText(by) {
    const n = this.texts.length;
    this.setIndex((this.#scene.state().s + by + n) % n);
  }
}
