// What a view sees of the page while one look is open: the Context that context.js describes.
import { ease, easeLong, setTheme } from './colour.js';
import { languageTag, t } from './i18n.js';
import { Weights } from './weights.js';

const LONG_TEXT = 60;  // items; a column of more is taller than a window
const PHONE = matchMedia('(max-width: 720px)');
const DARK = matchMedia('(prefers-color-scheme: dark)');

/** Theme and language are decided without a look, too. */
export const themeOf = asked => asked.th ?? (DARK.matches ? 'dark' : 'light');
export const languageOf = asked => asked.lang ?? (/^zh\b/i.test(navigator.language) ? 'zh' : 'en');
export const onTheme = listener => DARK.addEventListener('change', listener);

export class Scene {
  #start = {};
  #state = null;
  #axis = null;
  #page;

  /** `page`: set, setText, lead, announce and rail of the frame. */
  constructor({ source, model, look, signal, page }) {
    this.source = source;
    this.model = model;
    this.look = look;
    this.signal = signal;
    this.weights = new Weights(source, look, signal);
    this.rail = page.rail;
    this.#page = page;
  }

  set start(start) {
    this.#start = start;
  }

  /** Takes what the URL says and completes it with what this look has. Returns the keys that changed. */
  resolve(asked) {
    const { look } = this;
    const before = this.#state ?? {};
    const l = look.layers.includes(asked.l) ? asked.l : this.#start.l;
    const wanted = asked.h ?? this.#start.h;
    const h = wanted === 0 || look.map(l, wanted) ? wanted : look.mapsOf(l)[0].head;
    const token = value => (value != null && value < look.tokens.length ? value : null);
    const w = token(asked.w) ?? token(this.#start.w) ?? 0;
    this.#state = { ...asked, l, h, w, t: token(asked.t), th: themeOf(asked), lang: languageOf(asked) };
    setTheme(this.#state.th);
    return new Set(Object.keys(this.#state).filter(key => this.#state[key] !== before[key]));
  }

  state = () => this.#state;
  set = (patch, options) => this.#page.set(patch, options);
  setText = (text, chosen) => this.#page.setText(text, chosen);
  lead = (question, finding) => this.#page.lead(question, finding);
  announce = text => this.#page.announce(text);
  theme = () => this.#state.th;
  narrow = () => PHONE.matches;
  language = languageTag;

  axis = () => {
    const { p, a, f } = this.#state;
    const axis = this.#axis;
    if (axis && axis.pieces === !!p && axis.aside === !!a && axis.sink === !!f) return axis;
    this.#axis = this.look.axis({ pieces: !!p, aside: !!a, sink: !!f });
    return this.#axis;
  };

  /** Whether the text is shown as one strip rather than word by word. */
  long = () => this.axis().count > LONG_TEXT;

  /** Place of a weight on the colour scale; long texts by the logarithm, as one weight may be 1/100,000. */
  shade = weight => (this.long() ? easeLong(weight, this.axis().count) : ease(weight));

  item = () => this.axis().itemOf(this.#state.w);

  mean = () => this.#state.h === 0;

  chosenMaps = () => {
    const { l, h } = this.#state;
    return this.look.mapsOf(l).filter(map => h === 0 || map.head === h);
  };

  /** Weights of an item, the chosen one if none is named, in the chosen maps and direction. */
  row = (item = this.item()) =>
    this.weights.row({
      axis: this.axis(), maps: this.chosenMaps(), mean: this.mean(), item, direction: this.#state.d,
    });

  target = (row, item = this.item()) =>
    this.#state.t == null ? this.axis().target(row, item) : this.axis().itemOf(this.#state.t);

  mapName = () => {
    const { l, h } = this.#state;
    return h ? t('layerHead', { l, h }) : t('layerMean', { l });
  };
}
