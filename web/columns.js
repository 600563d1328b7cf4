// Columns under the words of a sentence: as wide as the word, never narrower than a number below it. The letters shrink
// before anything is cut.
import { textWidth } from './dom.js';

const MEASURED = 32;       // px at which words are measured; widths scale with the size
const PADDING = 10;
const SPECIAL_SCALE = 0.45;
const SPECIAL_LEAST = 11;

export const specialSize = size => Math.max(SPECIAL_LEAST, size * SPECIAL_SCALE);
const gapOf = size => Math.max(2, size * 0.1);

function measure(axis) {
  return Array.from({ length: axis.count }, (_, i) => {
    const special = axis.special(i);
    const font = special ? `500 ${MEASURED}px "Instrument Sans"` : `${MEASURED}px Newsreader`;
    return { special, width: textWidth(axis.label(i), font, special ? 'condensed' : 'normal') / MEASURED };
  });
}

function widthsAt(measured, size, narrowest) {
  return measured.map(({ special, width }) => Math.max(narrowest, width * (special ? specialSize(size) : size) + PADDING));
}

/** The columns of an axis' items in `width` pixels with the largest letters that fit: {size, x[], w[], mid[], end}; null where
 * even the smallest do not. Right to left if `rtl`. */
export function columnsOf(axis, width, { largest, smallest, narrowest, left, right, rtl }) {
  const measured = measure(axis);
  for (let size = largest; size >= smallest; size--) {
    const w = widthsAt(measured, size, narrowest);
    const total = w.reduce((sum, v) => sum + v, 0) + gapOf(size) * (w.length - 1);
    if (total <= width - left - right) return place(w, size, left, total, rtl);
  }
  return null;
}

function place(w, size, left, total, rtl) {
  const x = [];
  let at = 0;
  for (const width of w) {
    x.push(left + (rtl ? total - at - width : at));
    at += width + gapOf(size);
  }
  return { size, w, x, mid: x.map((v, i) => v + w[i] / 2), begin: left, end: left + total };
}
