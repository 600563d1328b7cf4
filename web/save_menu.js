// The menu that saves what is shown: a picture of the view, or all of it as one file.
import { el } from './dom.js';
import { t } from './i18n.js';
import { formats, save } from './export.js';

export class SaveMenu {
  #root;
  #shown;

  /** `shown` gives {context, mounted}, or nulls while there is no view. */
  constructor(root, shown) {
    this.#root = root;
    this.#shown = shown;
    this.#button.addEventListener('click', () => (this.#open ? this.#close() : this.#show()));
    root.addEventListener('keydown', event => this.#key(event));
    root.addEventListener('focusout', event => {
      if (!root.contains(event.relatedTarget)) this.#close();
    });
  }

  get #button() {
    return this.#root.firstElementChild;
  }

  get #menu() {
    return this.#root.lastElementChild;
  }

  get #open() {
    return !this.#menu.hidden;
  }

  update() {
    const { context, mounted } = this.#shown();
    this.#root.hidden = !context || !mounted;
    this.#button.textContent = t('save');
    this.#close();
  }

  #show() {
    const { context, mounted } = this.#shown();
    const items = formats.filter(format => format.available(context, mounted)).map(format =>
      el('button', { type: 'button', role: 'menuitem', tabindex: '-1', onclick: () => this.#save(format.id) }, t(format.labelKey)));
    this.#menu.replaceChildren(...items);
    this.#menu.hidden = false;
    this.#button.setAttribute('aria-expanded', 'true');
    items[0]?.focus();
  }

  #close() {
    this.#menu.hidden = true;
    this.#button.setAttribute('aria-expanded', 'false');
  }

  async #save(id) {
    const { context, mounted } = this.#shown();
    this.#button.focus();
    this.#close();
    try {
      await save(id, context, mounted);
    } catch (error) {
      this.#menu.replaceChildren(el('p', { role: 'alert' }, t('saveFailed', { e: error.message })));
      this.#menu.hidden = false;
    }
  }

  #key(event) {
    if (!this.#open) return;
    const items = [...this.#menu.children];
    const at = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) items[(at + step + items.length) % items.length]?.focus();
    else if (event.key === 'Escape') this.#button.focus();
    else return;
    if (event.key === 'Escape') this.#close();
    event.preventDefault();
    event.stopPropagation();
  }
}
