// One look at a text, as the report describes it, and the one place where weights between tokens become weights between
// what is shown: pieces joined to words, special tokens and the first token set aside. Weight to a word is the sum over
// its tokens, weight from a word the mean over its tokens. Nothing is renormalised.

// Controls, bidirectional controls and invisible characters, which would change how the page around a word reads. The
// joiners of emoji and of Persian stay.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const RTL = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
const NAMED = { '\n': '↵', '\t': '⇥', '\r': '␍' };

const escapeUnseen = c => NAMED[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** `text` with nothing in it that is invisible: `\u202e` stands as these six characters, white space alone as ␣. */
export function visibleText(text) {
  const shown = text.replace(UNSEEN, escapeUnseen);
  return /^\s+$/.test(text) ? shown.replaceAll(/\s/g, '␣') : shown;
}

/** Keys that a row sees, from, to, by the `score` of a map or of a layer (docs/report.md). */
export function seenBy({ causal, query_position: first, window_left: left, window_right: right }, row, keys) {
  const at = first + row;
  const from = left >= 0 ? at - left : 0;
  const to = Math.min(causal ? at + 1 : keys, right >= 0 ? at + right + 1 : keys);
  return [Math.min(Math.max(from, 0), keys), Math.max(to, 0)];
}

/** Whether no token of rows [top, bottom) sees any of keys [from, to). */
export function hides(score, [top, bottom], [from, to], keys) {
  return from >= seenBy(score, bottom - 1, keys)[1] || to <= seenBy(score, top, keys)[0];
}

/** What of `blocked` (docs/report.md) is in a map: [{rows, keys}], of ranges of tokens. */
export function cutsOf(blocked, layer, head) {
  return (blocked ?? []).filter(({ maps }) => maps.some(({ layers, heads }) => layers.includes(layer) && heads.includes(head)));
}

const holds = (ranges, token) => ranges.some(([begin, end]) => begin <= token && token < end);

/** Whether any of `cuts` takes a key from a row. */
export const cuts = (list, row, key) => list.some(({ rows, keys }) => holds(rows, row) && holds(keys, key));

/** Whether `list` takes all that tokens of rows [top, bottom) would see of keys [from, to). */
export function cutsAll(list, score, [top, bottom], [from, to], tokens) {
  if (list.length === 0) return false;
  for (let row = top; row < bottom; row++) {
    const [first, end] = seenBy(score, row, tokens);
    for (let key = Math.max(from, first); key < Math.min(to, end); key++) if (!cuts(list, row, key)) return false;
  }
  return true;
}

/** An axis of a map as it is shown: its items are words, or the tokens themselves (`pieces`). `aside` and `sink` say what
 * is set aside: special tokens, the first token. Items keep their places; `shown(i)` is false for those set aside. */
export class Axis {
  #look;

  constructor(look, { pieces = false, aside = false, sink = false }) {
    this.#look = look;
    this.pieces = pieces;
    this.aside = aside;
    this.sink = sink;
    this.count = pieces ? look.tokens.length : look.words.length;
  }

  /** First token of item i. */
  begin(i) {
    return this.pieces ? i : this.#look.words[i].token_begin;
  }

  /** One past its last token. */
  end(i) {
    return this.pieces ? i + 1 : this.#look.words[i].token_end;
  }

  /** The item that a token belongs to. */
  itemOf(token) {
    return this.pieces ? token : this.#look.tokens[token].word;
  }

  label(i) {
    const { tokens, words } = this.#look;
    if (!this.pieces) return visibleText(words[i].label);
    const { text, label, piece } = tokens[i];
    return visibleText(label === piece ? text || piece : label);  // WordPiece's spelling gives way to the text
  }

  /** Whether something stands in the text between item i and the next: a space as a rule. */
  gapAfter(i) {
    const items = this.pieces ? this.#look.tokens : this.#look.words;
    const next = items[i + 1];
    return !next || items[i].special || next.special || next.byte_begin > items[i].byte_end;
  }

  special(i) {
    return this.#look.tokens[this.begin(i)].special;
  }

  shown(i) {
    return !(this.aside && this.special(i)) && !(this.sink && i === 0);
  }

  /** What of a row of weights over all items lies on those set aside. */
  asideMass(row) {
    let mass = 0;
    for (let i = 0; i < this.count; i++) if (!this.shown(i)) mass += row[i];
    return mass;
  }

  /** Items by weight, largest first, of equals the earlier; at most `count`, only those shown. */
  top(row, count) {
    const best = [];
    for (let i = 0; i < this.count; i++) {
      if (!this.shown(i) || (best.length === count && !(row[i] > row[best[count - 1]]))) continue;
      let at = best.length;
      while (at > 0 && row[i] > row[best[at - 1]]) at--;
      best.splice(at, 0, i);
      if (best.length > count) best.pop();
    }
    return best;
  }

  /** What an item that is not given would be looked at for: the shown, not special item with most weight other than
   * `item` itself; else the first of all. */
  target(row, item) {
    const best = this.top(row, Math.min(this.count, 8));
    return best.find(i => i !== item && !this.special(i)) ?? best.find(i => i !== item) ?? item;
  }
}

/** [rows, tokens begin(keys[0])..end(keys[1] - 1)] to [rows, items keys[0]..keys[1]]: sums. */
export function mergeKeys(data, rows, axis, [from, to]) {
  if (axis.pieces) return data;
  const base = axis.begin(from);
  const tokens = axis.end(to - 1) - base;
  const items = to - from;
  const merged = new Float32Array(rows * items);
  for (let i = 0; i < items; i++) {
    const begin = axis.begin(from + i) - base;
    const end = axis.end(from + i) - base;
    for (let r = 0; r < rows; r++) {
      let sum = 0;
      for (let k = begin; k < end; k++) sum += data[r * tokens + k];
      merged[r * items + i] = sum;
    }
  }
  return merged;
}

/** [tokens begin(rows[0])..end(rows[1] - 1), cols] to [items rows[0]..rows[1], cols]: means. */
export function mergeRows(data, cols, axis, [from, to]) {
  if (axis.pieces) return data;
  const base = axis.begin(from);
  const merged = new Float32Array((to - from) * cols);
  for (let i = from; i < to; i++) {
    const begin = axis.begin(i) - base;
    const end = axis.end(i) - base;
    for (let c = 0; c < cols; c++) {
      let sum = 0;
      for (let r = begin; r < end; r++) sum += data[r * cols + c];
      merged[(i - from) * cols + c] = sum / (end - begin);
    }
  }
  return merged;
}

/** Shannon entropy of a row, in nats; what is set aside counts, as nothing is renormalised. */
export function entropy(row) {
  let sum = 0;
  for (const w of row) if (w > 0) sum -= w * Math.log(w);
  return sum;
}

function isRightToLeft(text) {
  const letters = text.slice(0, 2000).match(/\p{L}/gu) ?? [];
  return letters.filter(letter => RTL.test(letter)).length * 2 > letters.length;
}

/** One look: the report (docs/report.md, without lists) with what the page asks of it. */
export class Look {
  constructor(report) {
    this.report = report;
    this.id = report.look;
    this.text = report.text;
    this.model = report.model;
    this.tokens = report.tokens;
    this.words = report.words;
    this.maps = report.maps.filter(map => map.kept);  // of the others there are no weights
    this.rtl = isRightToLeft(report.text);  // by most of the letters at its beginning
    this.layers = [...new Set(this.maps.map(map => map.layer))];  // ascending
    this.byName = new Map(this.maps.map(map => [`${map.layer}.${map.head}`, map]));
  }

  /** The report's entry of a map, or undefined where it is not kept. */
  map(layer, head) {
    return this.byName.get(`${layer}.${head}`);
  }

  /** The kept map with the highest sharpness (docs/report.md), of equals the first; of one layer if it is named. */
  sharpest(layer = null) {
    const maps = this.maps.filter(map => layer == null || map.layer === layer);
    return maps.reduce((best, map) => (map.summary.sharpness > best.summary.sharpness ? map : best));
  }

  /** What was knocked out of a map, as cutsOf() gives it. */
  cutsOf({ layer, head }) {
    return cutsOf(this.report.blocked, layer, head);
  }

  /** The maps of a layer that are kept, by head. */
  mapsOf(layer) {
    return this.maps.filter(map => map.layer === layer);
  }

  /** Heads of a layer, from 1; all layers have as many. */
  get heads() {
    return this.model.heads;
  }

  axis(options) {
    return new Axis(this, options);
  }

  /** Whether rows see nothing after themselves, in any map. */
  get causal() {
    return this.maps.every(map => map.score.causal);
  }

  /** Whether the first token is set aside as special ones are where maps are ranked (docs/report.md, `first`). */
  get firstAside() {
    return this.report.segments[this.tokens[0]?.segment] === 'first';
  }

  /** Whether heads have sinks. */
  get sinks() {
    return this.maps.some(map => map.score.sink !== undefined);
  }

  /** How many words of the text itself there are; a token of white space alone is none. */
  get textWords() {
    return this.words.reduce((count, word) => count + (!word.special && /\S/.test(word.label)), 0);
  }
}
