// Where along a long text the weight of a row lies: its best passages, its parts, its highest weights a pixel.

export const PASSAGE = 16;  // items
const APART = 3;            // passages: nearer ones would show one place twice

/** The passages of a row with most weight, at most `count`: [{begin, end, mass}], largest first. */
export function bestPassages(row, axis, count) {
  const windows = [];
  for (let begin = 0; begin < axis.count; begin += PASSAGE) {
    const end = Math.min(axis.count, begin + PASSAGE);
    windows.push({ begin, end, mass: massOf(row, axis, begin, end) });
  }
  windows.sort((a, b) => b.mass - a.mass);
  const best = [];
  for (const window of windows) {
    if (best.length === count || !(window.mass > 0)) break;
    if (best.every(other => Math.abs(other.begin - window.begin) >= APART * PASSAGE)) best.push(window);
  }
  return best;
}

/** Weight on items begin..end that are shown. */
export function massOf(row, axis, begin, end) {
  let mass = 0;
  for (let i = begin; i < end; i++) if (axis.shown(i)) mass += row[i];
  return mass;
}

/** The text in `count` equal parts: [{begin, end, mass}]. */
export function partsOf(row, axis, count) {
  return Array.from({ length: count }, (_, k) => {
    const begin = Math.round((k * axis.count) / count);
    const end = Math.round(((k + 1) * axis.count) / count);
    return { begin, end, mass: massOf(row, axis, begin, end) };
  });
}

/** The largest weight in each of `bins` equal stretches. */
export function peaks(row, axis, bins) {
  const high = new Float32Array(bins);
  for (let i = 0; i < axis.count; i++) {
    if (!axis.shown(i)) continue;
    const first = Math.floor((i * bins) / axis.count);
    const last = Math.max(first + 1, Math.floor(((i + 1) * bins) / axis.count));
    for (let k = first; k < last; k++) high[k] = Math.max(high[k], row[i]);
  }
  return high;
}
