// Small pictures of numbers for the table of steps. They repeat what stands beside them, so they are hidden from readers.
import { difference } from '../colour.js';
import { svg } from '../dom.js';

const largest = values => values.reduce((most, x) => Math.max(most, Math.abs(x)), 0) || 1;

/** A bar from 0 along `domain` = [low, high]. */
export function bar(value, width, height, [low, high], fill) {
  const unit = width / (high - low || 1);
  const zero = low < 0 ? -low * unit : 0;
  const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    svg('line', { class: 'zero', x1: zero + 0.5, x2: zero + 0.5, y1: 0, y2: height }));
  if (Number.isFinite(value)) {
    const length = Math.max(0.8, Math.abs(value) * unit);
    picture.append(svg('rect', { x: value < 0 ? zero - length : zero, y: 5, width: length, height: height - 10, rx: 1, fill }));
  }
  return picture;
}

/** A vector as a strip of signed colours; `most` is the size that has full colour. */
export function strip(values, width, height, most = largest(values)) {
  const cell = width / values.length;
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    values.map((x, d) => svg('rect', { x: d * cell, y: 3, width: cell + 0.2, height: height - 6, fill: difference(x, most) })));
}

/** Rows of signed bars, one a number: [{label, values}]. */
export function barRows(rows, { width, rowHeight, labelWidth, label }) {
  const above = labelWidth === 0 ? 20 : 0;  // labels stand over their rows where there is no room beside
  const height = rows.length * (rowHeight + above) + 4;
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label });
  rows.forEach(({ label: name, values }, r) => {
    const top = r * (rowHeight + above) + above;
    const middle = top + rowHeight / 2;
    const cell = (width - labelWidth) / values.length;
    const most = largest(values);
    picture.append(
      svg('text', { x: 0, y: above ? top - 5 : middle + 4 }, name),
      svg('line', { class: 'zero', x1: labelWidth, x2: width, y1: middle, y2: middle }));
    values.forEach((x, d) => {
      const length = Math.max(0.6, (Math.abs(x) / most) * (rowHeight / 2 - 2));
      picture.append(svg('rect', {
        class: x < 0 ? 'minus' : 'plus', x: labelWidth + d * cell + cell * 0.18, y: x < 0 ? middle : middle - length,
        width: cell * 0.64, height: length,
      }));
    });
  });
  return picture;
}
