// Where a look begins when the URL does not say: with the look that carries most weight farthest, which is the one worth
// seeing first. Distance counts, as otherwise a head that reads the word before would always win.

const isWord = label => /[\p{L}\p{N}]/u.test(label);

/** The best of a block [maps, items, items]: argmax of weight × distance in items, between words of the text. */
function farthest(data, maps, axis, onlyItem) {
  const n = axis.count;
  const usable = Array.from({ length: n }, (_, i) => !axis.special(i) && isWord(axis.label(i)));
  const rows = onlyItem == null ? [...usable.keys()].filter(i => usable[i]) : [onlyItem];
  let best = { reach: -1 };
  maps.forEach((map, m) => {
    for (const i of rows) {
      for (let j = 0; j < n; j++) {
        const reach = usable[j] ? data[(m * n + i) * n + j] * Math.abs(i - j) : -1;
        if (reach > best.reach) best = { reach, map, item: i };
      }
    }
  });
  return best;
}

/** Of a text whose maps are not in memory: the sharpest map, and the last word of the text. */
function sharpestStart(look, asked) {
  const last = look.tokens.findLastIndex(token => !token.special);
  const { layer, head } = look.sharpest(asked.l);
  return { l: asked.l ?? layer, h: asked.h ?? head, w: asked.w ?? Math.max(0, last) };
}

/** What is asked for as far as the look has it, else null. */
function possible(look, { l, h, w }) {
  const layer = look.layers.includes(l) ? l : null;
  const head = h === 0 || look.maps.some(map => map.head === h && map.layer === (layer ?? map.layer)) ? h : null;
  return { l: layer, h: head, w: w != null && w < look.tokens.length ? w : null };
}

/** Layer, head and token to begin with, where the URL (`wanted`) does not name some that there are. */
export async function chooseStart(look, weights, wanted) {
  const asked = possible(look, wanted);
  const n = look.tokens.length;
  const fixed = sharpestStart(look, asked);
  if (!weights.whole || n === 0) return fixed;
  const axis = look.axis({});
  const maps = look.maps.filter(({ layer, head }) => layer === (asked.l ?? layer) && head === (asked.h || head));
  if (maps.length === 0) return fixed;
  const all = [0, axis.count];
  const data = await weights.block({ axis, maps, rows: all, keys: all });
  const { reach, map, item } = farthest(data, maps, axis, asked.w == null ? null : axis.itemOf(asked.w));
  if (!(reach > 0)) return fixed;
  return { l: asked.l ?? map.layer, h: asked.h ?? map.head, w: asked.w ?? axis.begin(item) };
}
