// The text in the rail: an editor where the source can look at new texts, a list where a file holds some.
import { el, keepFocus } from './dom.js';
import { countText, t } from './i18n.js';
import { visibleText } from './look.js';

const SHOWN_WHOLE = 5000;   // characters; of a longer text the editor shows the beginning until it is edited
const SHOWN_BEGINNING = 300;

export class TextEditor {
  element;
  #page;
  #area;
  #look;
  #file;
  #note = el('p', { class: 'note' });
  #text = '';
  #begun = false;  // a long text's whole is in the editor

  constructor(page) {
    this.#page = page;
    this.#area = el('textarea', {
      rows: '2', spellcheck: 'false', autocomplete: 'off', dir: 'auto', 'data-key': 'text',
      oninput: () => this.#mark(), onfocus: () => this.#begin(), onblur: () => this.#mark(), onkeydown: event => this.#key(event),
    });
    this.#look = el('button', { type: 'button', class: 'btn strong', onclick: () => this.#submit() });
    const input = el('input', { type: 'file', hidden: true, accept: 'text/*,.txt,.md', onchange: () => this.#read(input) });
    this.#file = el('button', { type: 'button', class: 'plain', onclick: () => input.click() });
    this.element = el('div', { class: 'editor' }, this.#area, el('div', { class: 'line' }, this.#note, input, this.#file, this.#look));
  }

  /** `look` is null while there is none: then the text that was asked for stands here. */
  update(look) {
    this.#area.setAttribute('aria-label', t('textLabel'));
    this.#area.placeholder = t('textPlaceholder');
    this.#look.textContent = t('look');
    this.#file.textContent = t('openFile');
    const text = look ? look.text : this.#page.askedText;
    if (text !== this.#text && document.activeElement !== this.#area) this.#take(text);
    this.#counts = look ? this.#countsOf(look) : '';
    this.#mark();
  }

  #counts = '';

  #countsOf(look) {
    const counts = t('counts', { words: countText(look.textWords), tokens: countText(look.tokens.length) });
    return look.report.cut_tokens ? `${counts}. ${t('cut', { n: countText(look.report.cut_tokens) })}` : counts;
  }

  #take(text) {
    const long = text.length > SHOWN_WHOLE;
    this.#text = text;
    this.#begun = !long;
    this.#area.value = long ? `${text.slice(0, SHOWN_BEGINNING)} …` : text;
  }

  #begin() {
    if (!this.#begun) this.#area.value = this.#text;
    this.#begun = true;
    this.#mark();
  }

  #mark() {
    const changed = this.#begun && this.#area.value !== this.#text;
    this.#look.hidden = !changed;
    this.#file.hidden = changed;
    const typing = document.activeElement === this.#area;
    this.#note.textContent = typing || changed ? t('textHint') : this.#counts;
  }

  #key(event) {
    if (event.isComposing) return;  // Enter ends the input method's word
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      this.#submit();
    } else if (event.key === 'Escape') {
      this.#area.value = this.#text;
      this.#area.blur();
    }
  }

  #submit() {
    const text = this.#area.value;
    this.#area.blur();
    this.#text = text;
    this.#page.setText(text);
  }

  async #read(input) {
    const [file] = input.files;
    input.value = '';
    if (!file) return;
    const most = this.#page.limits?.max_text_bytes ?? Infinity;
    if (file.size > most) this.#note.textContent = t('fileLong', { n: countText(file.size), most: countText(most) });
    else this.#page.setText(await file.text());
  }

  edit() {
    this.#area.focus();
    this.#area.setSelectionRange(this.#area.value.length, this.#area.value.length);
  }
}

const SHORT_TITLE = 90;

/** A line for each knock-out of a look: files alone hold such looks. */
const knockOutLines = look => (look?.report.blocked ?? []).map(({ spec }) => (
  el('p', { class: 'note' }, t('knockedOut', { spec: visibleText(spec) }))));

export class TextList {
  element = el('div', { class: 'texts' });
  #page;

  constructor(page) {
    this.#page = page;
  }

  update(look, state) {
    const { texts } = this.#page;
    const n = texts.length;
    if (n < 2) {
      this.element.replaceChildren(el('p', { class: 'sentence', dir: 'auto' }, look ? look.text.slice(0, SHOWN_BEGINNING) : ''),
        ...knockOutLines(look));
      return;
    }
    const at = state?.s ?? 0;
    const step = (by, label) => el('button', {
      type: 'button', class: 'btn', 'data-key': label, 'aria-label': t(label), onclick: () => this.#page.stepText(by),
    }, by < 0 ? '‹' : '›');
    const options = texts.map((title, i) => el('option', { value: i, selected: i === at }, `${i + 1}. ${title.slice(0, SHORT_TITLE)}`));
    const select = el('select', {
      'aria-label': t('texts'), 'data-key': 'texts', onchange: event => this.#page.setIndex(Number(event.target.value)),
    }, options);
    keepFocus(this.element, () => this.element.replaceChildren(
      el('p', { class: 'sentence', dir: 'auto' }, texts[at]),
      el('div', { class: 'line' }, step(-1, 'previousText'), select, step(1, 'nextText')),
      ...knockOutLines(look)));
  }

  edit() {
    this.element.querySelector('select')?.focus();
  }
}
