// The heading of Text and the sentence that answers it, made from the numbers.
import { el, wordElement } from '../dom.js';
import { listOf, rich, t, weightText } from '../i18n.js';

export const isIn = context => context.state().d === 'in';

export function question(context, item) {
  return rich(isIn(context) ? 'askIn' : 'askOut', { w: wordElement(context.axis().label(item)) });
}

export const strong = text => el('strong', {}, text);

/** What is set aside, as words: "[CLS], [SEP]", "the first token". */
function asideNames(context) {
  const axis = context.axis();
  const names = new Set();
  for (let i = 0; i < axis.count; i++) if (!axis.shown(i) && axis.special(i)) names.add(axis.label(i));
  if (axis.sink && !axis.special(0)) names.add(t('theFirst'));
  return [...names];
}

/** " 0.111 on [CLS] and [SEP] is set aside.", or nothing. Only of a row: what others give has no sum to complete. */
export function asideSentence(context, row) {
  const names = isIn(context) ? [] : asideNames(context);
  if (names.length === 0) return '';
  return rich('sayAside', { n: strong(weightText(context.axis().asideMass(row))), list: listOf(names, 'andNames') });
}

/** "0.677 of its weight to animal, 0.102 to [CLS] and 0.064 to itself" for [[weight, node], …]. */
export function givesList(context, parts) {
  const [first, next] = isIn(context) ? ['sayInFirst', 'sayInNext'] : ['sayOutFirst', 'sayOutNext'];
  return listOf(parts.map(([weight, node], k) => rich(k ? next : first, { n: strong(weightText(weight)), t: node })));
}

export function finding(context, item, row) {
  const axis = context.axis();
  const word = wordElement(axis.label(item));
  const best = axis.top(row, 3);
  if (best.length === 0) return rich('sayNobody', { map: context.mapName(), w: word });
  const parts = best.map(i => [row[i], i === item ? t('itself') : wordElement(axis.label(i))]);
  const sentence = rich(isIn(context) ? 'sayIn' : 'sayOut', { map: context.mapName(), w: word, list: givesList(context, parts) });
  sentence.append(asideSentence(context, row));
  return sentence;
}

/** Accessible name and tip of a pair: "it → animal 0.677", turned around where the direction is. */
export function pairText(context, item, other, weight) {
  const axis = context.axis();
  const [from, to] = isIn(context) ? [other, item] : [item, other];
  return t('pairWeight', { a: axis.label(from), b: axis.label(to), n: weightText(weight) });
}
