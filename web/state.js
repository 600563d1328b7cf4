// All state of the page, in the URL's fragment: a view can be shared, the browser's back button works, and the text never
// reaches a server's log. What stands at its default is left out. Numbers of layers, heads and words are checked against
// the model and the text where these are known, by `resolve` in frame.js.

const word = (fallback, allowed) => ({
  fallback,
  parse: value => (allowed.includes(value) ? value : fallback),
});
const text = fallback => ({ fallback, parse: value => value });
const integer = (fallback, low, high) => ({
  fallback,
  parse: value => (/^-?\d{1,9}$/.test(value) && value >= low && value <= high ? Number(value) : fallback),
});
const real = (fallback, low, high) => ({
  fallback,
  parse: value => (value !== '' && value >= low && value <= high ? Number(value) : fallback),
});
const flag = () => integer(0, 0, 1);
const MANY = 1e9;

/** Every key of the state; null = decided by the look itself. */
export const FIELDS = {
  v: text('text'),                      // view
  x: text(null),                        // the text; null = the example
  i: text(null),                        // instead of a text too long for a URL: the look's id, while the server keeps it
  c: flag(),                            // a text that is too long: only its beginning
  s: integer(0, 0, MANY),               // which text, where one file holds several
  w: integer(null, 0, MANY),            // the word: a token's index; its word, or its piece with p=1
  t: integer(null, 0, MANY),            // the target: a token's index; null = where most weight lies
  l: integer(null, 1, MANY),            // layer, from 1
  h: integer(null, 0, MANY),            // head, from 1; 0 = mean of the layer's heads
  d: word('out', ['out', 'in']),        // where the word looks, or who looks at it
  p: flag(),                            // pieces as they are; 0 = joined to words
  a: flag(),                            // special tokens set aside
  f: flag(),                            // the first token, a sink, set aside
  n: word('entropy', ['entropy', 'special', 'first', 'sink', 'previous', 'same', 'next', 'distance']),  // heads: the number shown
  z: real(null, -64, 64),               // map: zoom, log2 of pixels a token; null = all of it
  zx: real(null, -MANY, MANY),          // map: token (key) in the middle
  zy: real(null, -MANY, MANY),          // map: token (query) in the middle
  dv: real(null, 0, 1e6),               // steps: divisor; null = the model's own
  ca: flag(),                           // steps: hide what follows
  lang: word(null, ['en', 'zh']),       // null = the browser's
  th: word(null, ['light', 'dark']),    // null = the system's
};

export function defaults() {
  return Object.fromEntries(Object.entries(FIELDS).map(([key, field]) => [key, field.fallback]));
}

/** The state that a fragment (`#v=heads&l=4`) names. Unknown keys and values out of range fall back to defaults. */
export function parse(fragment) {
  const state = defaults();
  const query = new URLSearchParams(fragment.replace(/^#/, ''));
  for (const [key, field] of Object.entries(FIELDS)) {
    if (query.has(key)) state[key] = field.parse(query.get(key));
  }
  return state;
}

const written = value => (typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toFixed(4))) : String(value));

/** The fragment that names `state`, without what is default; '#' for the start. */
export function format(state) {
  const query = new URLSearchParams();
  for (const [key, field] of Object.entries(FIELDS)) {
    if (state[key] != null && state[key] !== field.fallback) query.set(key, written(state[key]));
  }
  return `#${query}`;
}

export const read = () => parse(location.hash);

/** Writes `patch` over what the URL says. A choice makes a step of history, stepping along (`replace`) does not. */
export function write(patch, { replace = false } = {}) {
  const state = { ...read(), ...patch };
  const url = format(state);
  if (url !== (location.hash || '#')) {
    if (replace) history.replaceState(null, '', url);
    else history.pushState(null, '', url);
  }
  return state;
}
