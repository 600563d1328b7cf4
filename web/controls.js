// Controls that rail and views share.
import { el } from './dom.js';
import { t } from './i18n.js';

/** A choice of one of few: [[value, label], …]. */
export function radioGroup(label, choices, chosen, choose) {
  const buttons = choices.map(([value, text]) =>
    el('button', {
      type: 'button', role: 'radio', 'aria-checked': String(value === chosen), 'data-key': `${label} ${value}`,
      tabindex: value === chosen ? '0' : '-1', onclick: () => choose(value),
    }, text));
  const key = event => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (choices.findIndex(([value]) => value === chosen) + step + choices.length) % choices.length;
    buttons[next].focus();
    choose(choices[next][0]);
  };
  return el('div', { class: 'seg', role: 'radiogroup', 'aria-label': label, onkeydown: key }, buttons);
}

/** A switch. */
export const toggle = (label, on, turn) =>
  el('button', { type: 'button', class: 'opt', role: 'switch', 'aria-checked': String(on), 'data-key': label, onclick: turn },
    el('span', {}, label), el('i'));

/** A number with a step down and a step up. */
export function stepper(name, value, shown, step) {
  const button = (by, sign) => el('button', {
    type: 'button', 'data-key': `${name} ${by}`, 'aria-label': t(by < 0 ? 'previousOf' : 'nextOf', { name }), onclick: () => step(by),
  }, sign);
  return el('div', { class: 'stepper', role: 'group', 'aria-label': `${name} ${shown}` },
    button(-1, '−'), el('span', {}, name, ' ', el('b', {}, shown)), button(1, '+'));
}
