// The beam, the page's one picture word: a point where the look starts, opening to the width of the weight where it lands.

/** Pixels of a weight of 1. */
export const FULL_WIDTH = 44;

/** Below this a beam would be a hairline that says nothing. */
export const LEAST_WEIGHT = 0.002;

const LOOP = 30;  // height of the loop of a word that looks at itself

/** Path of a beam from x = `from` to x = `to` on the line y, over a height of about `height`; `width` where it lands. */
export function beamPath(from, to, y, height, width) {
  const half = width / 2;
  // A cubic's middle reaches three quarters of its control points' height.
  const control = h => y - (h * 4) / 3;
  if (Math.abs(to - from) < 1) {
    const side = 14 + half;
    return `M${from} ${y}C${from - side} ${control(LOOP)} ${from + side} ${control(LOOP)} ${from} ${y}Z`;
  }
  const outward = to > from ? half : -half;
  const outer = control(height + half / 2);
  const inner = control(height - half * 0.3);
  return `M${from} ${y}C${from} ${outer} ${to + outward} ${outer} ${to + outward} ${y}`
    + `L${to - outward} ${y}C${to - outward} ${inner} ${from} ${inner} ${from} ${y}Z`;
}

/** Height of a beam over a distance, of a stage that is `span` wide and `height` high: nearer looks stay lower. */
export const beamHeight = (distance, span, height) => 26 + (height - 40) * (distance / Math.max(1, span)) ** 0.62;

/** The beams between an item and all others, by item: [{weight, width, from, to}], of those set aside with weight 0. `middle`
 * gives an item's place. Out of the item they are `full` wide at a weight of 1; `inward` they land on it side by side, within
 * `room`, and a look at itself starts and ends there. */
export function beamsOf({ axis, row, item, inward, middle, full, room }) {
  const weights = Array.from(row, (v, i) => (axis.shown(i) ? v : 0));
  const others = weights.reduce((sum, v, i) => sum + (i === item ? 0 : v), 0);
  const scale = inward ? Math.min(FULL_WIDTH, room / Math.max(others, 1e-6)) : full;
  const widths = weights.map(v => v * scale);
  const there = middle(item);
  const landing = inward ? landings(widths, item, there) : [];
  return weights.map((weight, i) => {
    const [from, to] = i === item ? [there, there] : inward ? [middle(i), landing[i]] : [there, middle(i)];
    return { weight, width: widths[i], from, to };
  });
}

/** Where the beams of many onlookers land on one word: side by side, in an order that lets no two cross. `widths` are the
 * beams' widths by item; the word's own is left out. Returns their centres. */
function landings(widths, item, middle) {
  const order = [...widths.keys()].filter(i => i !== item);
  const before = order.filter(i => i < item).reverse();
  const after = order.filter(i => i > item).reverse();
  const centres = new Array(widths.length).fill(middle);
  const total = order.reduce((sum, i) => sum + widths[i], 0);
  let x = middle - total / 2;
  for (const i of [...before, ...after]) {
    centres[i] = x + widths[i] / 2;
    x += widths[i];
  }
  return centres;
}
