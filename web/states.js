// What stands in the place of a view while there is none: loading, nothing to look at, a text that is too long, an error.
import { el, svg } from './dom.js';
import { t } from './i18n.js';

function beamSign(moving) {
  return svg('svg', { viewBox: '0 0 96 40', width: 144, height: 60, 'aria-hidden': 'true' },
    svg('path', { class: moving ? 'sweep' : 'still', d: 'M6 34C12 14 50 4 92 12L88 24C52 14 20 20 6 34Z' }),
    svg('circle', { cx: 6, cy: 34, r: 4 }));
}

const button = (label, run) => el('button', { type: 'button', class: 'btn', onclick: run }, label);

function show(root, { question, finding, moving = false, alert = false, actions = [] }, lead) {
  lead(question, finding);
  root.replaceChildren(
    el('div', { class: 'state', role: alert ? 'alert' : 'status' },
      beamSign(moving),
      alert && el('p', { class: 'unseen' }, question, ' ', finding),
      actions.length > 0 && el('div', { class: 'actions' }, actions.map(([label, run]) => button(label, run)))));
}

export function showLoading(root, page, isFirst) {
  show(root, { question: t('loadingTitle'), finding: t(isFirst ? 'loadingModel' : 'loading'), moving: true }, page.lead);
}

export function showEmpty(root, page) {
  const actions = [[t('emptyExample'), page.takeExample]];
  show(root, { question: t('emptyTitle'), finding: t('empty'), actions }, page.lead);
}

export function showTooLong(root, page, message) {
  const actions = [[t('longCut'), page.cutText], [t('editText'), page.editText]];
  show(root, { question: t('longTitle'), finding: message, alert: true, actions }, page.lead);
}

const messageOf = error => {
  if (error.kind === 'offline') return t('offline');
  if (error.kind === 'gone') return t('gone');
  if (error.kind === 'busy') return t('busy', { n: error.retryAfter || 1 });
  return error.kind === 'failed' ? error.message : t('unexpected', { e: error.message });
};

export function showError(root, page, error) {
  if (error.kind === 'empty') return showEmpty(root, page);
  if (error.kind === 'long') return showTooLong(root, page, error.message);
  const actions = [[t('again'), page.again]];
  if (page.canEdit) actions.push([t('editText'), page.editText]);
  return show(root, { question: t('failedTitle'), finding: messageOf(error), alert: true, actions }, page.lead);
}
