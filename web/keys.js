// Keys of the page: the view's own go before the frame's. The sheet under `?` is made from the same lists.
import { closeButton, openSheet } from './caveat.js';
import { el } from './dom.js';
import { t } from './i18n.js';

const STORED = 'sightline.singleKeys';

// A file opened from disk may have no storage; then the switch holds while the page is open.
function stored() {
  try {
    return localStorage.getItem(STORED) !== 'off';
  } catch {
    return true;
  }
}

function store(on) {
  try {
    localStorage.setItem(STORED, on ? 'on' : 'off');
  } catch {
    // nothing to do: see above
  }
}

let singleKeys = stored();

const nameOf = event => (event.key.length === 1 ? event.key.toLowerCase() : event.key);
const isTyping = target => target.matches('textarea, select, input:not([type=range], [type=checkbox], [type=radio])');
const MOVES = /^(Arrow|Page|Home|End)/;

/** Runs the first of `keys` that takes the event. */
export function takeKey(event, keys) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.getElementById('sheet').open || isTyping(event.target)) return;
  if (event.target.matches('input[type=range]') && MOVES.test(event.key)) return;
  for (const key of keys) {
    if (key.key !== nameOf(event) || (!key.always && !singleKeys)) continue;
    if (key.run(event) === false) continue;
    event.preventDefault();
    return;
  }
}

const SHOWN = {
  ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', PageUp: 'PgUp', PageDown: 'PgDn', Escape: 'Esc', '-': '−',
};
const shownName = ({ key, show }) => show ?? SHOWN[key] ?? (key.length === 1 ? key.toUpperCase() : key);

/** Lines of the sheet: keys that do the same stand together. */
function linesOf(keys) {
  const lines = new Map();
  for (const key of keys) {
    const names = lines.get(key.labelKey) ?? [];
    if (!names.includes(shownName(key))) names.push(shownName(key));
    lines.set(key.labelKey, names);
  }
  return [...lines].map(([labelKey, names]) => [
    el('span', {}, names.map(name => el('kbd', {}, name))),
    el('span', {}, t(labelKey)),
  ]);
}

function singleKeySwitch() {
  const toggle = event => {
    singleKeys = !singleKeys;
    store(singleKeys);
    event.currentTarget.setAttribute('aria-checked', String(singleKeys));
  };
  return el('button', { type: 'button', class: 'opt', role: 'switch', 'aria-checked': String(singleKeys), onclick: toggle },
    el('span', {}, t('singleKeys')), el('i'));
}

export function openKeySheet(viewKeys, frameKeys) {
  openSheet([
    el('h2', { id: 'sheet-title' }, t('reading')),
    ['read1', 'read2', 'read3'].map(key => el('p', {}, t(key))),
    viewKeys.length > 0 && el('h3', {}, t('keysOfView')),
    viewKeys.length > 0 && el('div', { class: 'keys' }, linesOf(viewKeys)),
    el('h3', {}, t('keys')),
    el('div', { class: 'keys' }, linesOf(frameKeys)),
    el('div', { class: 'end' }, singleKeySwitch(), closeButton()),
  ].flat().filter(Boolean));
}
