// The line at the foot of every view, and the two sentences behind it.
import { el } from './dom.js';
import { t } from './i18n.js';

/** Fills the sheet (the page's one dialog) and opens it. */
export function openSheet(children) {
  const sheet = document.getElementById('sheet');
  sheet.replaceChildren(...children);
  if (!sheet.open) sheet.showModal();
}

export const closeButton = () =>
  el('button', { type: 'button', class: 'btn', autofocus: true, onclick: () => document.getElementById('sheet').close() }, t('close'));

export function openCaveat() {
  openSheet([
    el('h2', { id: 'sheet-title' }, t('caveat')),
    el('p', {}, t('caveat1')),
    el('p', {}, t('caveat2')),
    el('div', { class: 'end' }, el('span'), closeButton()),
  ]);
}
