// Text: the sentence itself; where a word looks, or who looks at it. One line where it fits, a column where it does not, a
// strip and passages for a long text.
import { columnsOf } from '../columns.js';
import { LongText } from './text_long.js';
import { finding, question } from './text_sentence.js';
import { TallSentence } from './text_tall.js';
import { WideSentence } from './text_wide.js';

function columnsFor(root, context) {
  if (context.narrow()) return null;
  const heads = 44;  // px for the names of the strip's rows
  return columnsOf(context.axis(), root.clientWidth, {
    largest: 34, smallest: 13, narrowest: 40, left: context.look.rtl ? 0 : heads, right: context.look.rtl ? heads : 0,
    rtl: context.look.rtl,
  });
}

class Sentence {
  #root;
  #context;
  #part = null;
  #drawn = null;    // {item, row, heads} of the chosen word
  #asked = 0;
  #previewing = 0;

  constructor(root, context) {
    this.#root = root;
    this.#context = context;
  }

  #actions = {
    choose: item => this.#context.set({ w: this.#context.axis().begin(item), t: null }),
    preview: item => this.#preview(item),
    leave: () => this.#leave(),
  };

  /** The line or the column, built anew where the room or the words changed. */
  #layOut(change) {
    const columns = columnsFor(this.#root, this.#context);
    const Part = columns ? WideSentence : TallSentence;
    const lasting = ['v', 'p', 'lang', 'size'].every(key => !change.has(key));
    if (lasting && this.#part instanceof Part && this.#part.fits(this.#root, columns)) return;
    this.#part?.destroy();
    this.#part = columns
      ? new WideSentence(this.#root, this.#context, columns, this.#actions)
      : new TallSentence(this.#root, this.#context, this.#actions);
  }

  async update(state, change) {
    const context = this.#context;
    const asked = ++this.#asked;
    this.#previewing++;
    const item = context.item();
    const layer = context.look.mapsOf(state.l);
    const [row, heads] = await Promise.all([
      context.row(),
      context.weights.row({ axis: context.axis(), maps: layer, item, direction: state.d }),
    ]);
    if (asked !== this.#asked) return;
    const focused = this.#root.contains(document.activeElement) ? document.activeElement : null;
    this.#lead(item, row);  // first, as the room left depends on its lines
    this.#layOut(change);
    const animate = (change.has('h') || change.has('l') || change.has('x')) && !change.has('w') && !change.has('v');
    this.#drawn = { item, row, heads };
    this.#part.draw({ item, row, heads, animate });
    this.#restoreFocus(focused);
  }

  // The focus follows the chosen word; on other controls it stays where it was.
  #restoreFocus(focused) {
    if (!focused) return;
    const key = focused.getAttribute('role') === 'option' ? `word ${this.#context.item()}` : focused.dataset.key;
    this.#root.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
  }

  #lead(item, row) {
    this.#context.lead(question(this.#context, item), finding(this.#context, item, row));
  }

  async #preview(item) {
    const previewing = ++this.#previewing;
    try {
      const row = await this.#context.row(item);
      if (previewing !== this.#previewing) return;
      this.#part.draw({ item, row, heads: null, animate: false });
      this.#lead(item, row);
    } catch (error) {
      if (error.name !== 'AbortError') this.#leave();  // a preview that fails shows what is chosen; choosing it says why
    }
  }

  #leave() {
    this.#previewing++;
    if (!this.#drawn) return;
    this.#part.draw({ ...this.#drawn, heads: null, animate: false });
    this.#lead(this.#drawn.item, this.#drawn.row);
  }

  destroy() {
    this.#asked++;
    this.#previewing++;
    this.#part?.destroy();
  }
}

export const view = {
  id: 'text',
  titleKey: 'view.text',
  mount(root, context) {
    let part = null;
    const fitting = () => (context.long() ? LongText : Sentence);
    return {
      options: ['direction', 'pieces', 'special', 'sink'],
      update(state, change) {
        if (!(part instanceof fitting())) {
          part?.destroy();
          part = new (fitting())(root, context);
          change = new Set([...change, 'v']);
        }
        return part.update(state, change);
      },
      destroy: () => part?.destroy(),
      get keys() {
        return part?.keys ?? [];
      },
    };
  },
};
