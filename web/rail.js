// The rail beside the view: text, head, what the head is like, options, and the view's own part.
import { radioGroup, stepper, toggle } from './controls.js';
import { el, keepFocus, wordElement } from './dom.js';
import { distanceText, listOf, percentText, rich, t } from './i18n.js';
import { entropy } from './look.js';
import { Picker } from './picker.js';
import { TextEditor, TextList } from './rail_text.js';

const OPTIONS = ['pieces', 'special', 'sink'];

// Where heads have sinks, what the weights of a row leave to 1. Those of a file are rounded: of a long row the sum would
// say little, and a column has no sum to complete.
const saysSink = scene => scene.look.sinks && scene.state().d !== 'in' && !scene.long();
const sinkOf = row => Math.max(0, 1 - row.reduce((a, b) => a + b, 0));

/** Pieces of the special tokens of a text, each once. */
const specialPieces = look => [...new Set(look.tokens.filter(token => token.special).map(token => token.piece))];

export class Rail {
  slot = el('div', { class: 'slot' });
  #page;
  #root;
  #text;
  #picker = new Picker();
  #headTitle = el('h2');
  #steppers = el('div', { class: 'steppers' });
  #card = el('section', { class: 'card wide' });
  #options = el('section', { class: 'options wide' });
  #pickerBox;
  #head;
  #open = false;  // on a phone: everything is shown
  #asked = 0;

  constructor(root, page) {
    this.#page = page;
    this.#root = root;
    this.#text = page.canEdit ? new TextEditor(page) : new TextList(page);
    this.#pickerBox = el('div', { class: 'wide' }, this.#picker.element, this.#picker.note);
    this.#head = el('section', {}, this.#headTitle, this.#pickerBox, this.#steppers);
    root.append(el('section', {}, this.#text.element), this.#head, this.#card, this.#options, this.slot);
  }

  edit() {
    this.#text.edit();
  }

  /** `scene` and `mounted` are null while there is no view. */
  update(scene, mounted, change) {
    for (const part of [this.#head, this.#card, this.#options, this.slot]) part.hidden = !scene;
    if (!scene) {
      this.#text.update(null);
      return;
    }
    if (change.has('v') || change.has('lang')) this.#text.update(scene.look, scene.state());
    if (change.has('v')) this.#place(mounted);
    if (change.size === 1 && change.has('size')) return;
    this.#headTitle.textContent = t('head');
    this.#drawSteppers(scene);
    this.#drawOptions(scene, mounted);
    this.#follow(scene, mounted, change);
  }

  // A view without the picker has its own part in the picker's place.
  #place(mounted) {
    const own = mounted.picker === false;
    this.#pickerBox.hidden = own;
    if (own) this.#headTitle.after(this.slot);
    else this.#root.append(this.slot);
  }

  /** What waits for weights. A failure is the view's to show: it asks for the same. */
  async #follow(scene, mounted, change) {
    const asked = ++this.#asked;
    try {
      if (mounted.picker !== false) await this.#picker.update(scene, change);
      const row = await scene.weights.row({
        axis: scene.axis(), maps: scene.chosenMaps(), mean: scene.mean(), item: scene.item(), direction: 'out',
      });
      if (asked === this.#asked) this.#drawCard(scene, row);
    } catch (error) {
      if (error.name !== 'AbortError' && !error.kind) console.error(error);
    }
  }

  #drawSteppers(scene) {
    const { l, h } = scene.state();
    const more = el('button', {
      type: 'button', class: 'btn phone', 'data-key': 'more', 'aria-expanded': String(this.#open),
      'aria-label': t(this.#open ? 'less' : 'more'), onclick: () => this.#turnOpen(scene),
    }, this.#open ? '▴' : '▾');
    keepFocus(this.#steppers, () => this.#steppers.replaceChildren(
      stepper(t('layer'), l, String(l), by => this.#page.stepLayer(by)),
      stepper(t('headName'), h, h ? String(h) : t('mean'), by => this.#page.stepHead(by)),
      more));
  }

  #turnOpen(scene) {
    this.#open = !this.#open;
    this.#root.classList.toggle('open', this.#open);
    this.#drawSteppers(scene);
  }

  #drawCard(scene, row) {
    const { l, h } = scene.state();
    const sum = h ? scene.look.map(l, h).summary : null;
    const H = entropy(row);
    const line = (term, value, small) => [el('dt', {}, term), el('dd', {}, el('b', {}, value)), small && el('dd', { class: 'under' }, small)];
    const word = wordElement(scene.axis().label(scene.item()));
    const whole = sum && el('dl', { class: 'whole' },
      line(t('entropyHead'), t('nats', { n: sum.entropy.toFixed(2) })),
      scene.look.firstAside ? line(t('onFirst'), percentText(sum.first_share)) : line(t('onSpecial'), percentText(sum.special_share)),
      scene.look.sinks ? line(t('onSink'), percentText(sum.sink_share)) : [],
      line(t('onPrevious'), percentText(sum.previous_share)),
      line(t('onSame'), percentText(sum.same_share)),
      scene.look.causal ? [] : line(t('onNext'), percentText(sum.next_share)),
      line(t('distance'), t('distanceTokens', { n: distanceText(sum.distance) })));
    this.#card.replaceChildren(...[
      el('dl', {},
        line(rich('entropyOf', { w: word }), t('nats', { n: H.toFixed(2) }), t('likeWords', { k: Math.exp(H).toFixed(1) })),
        saysSink(scene) ? line(rich('sinkOf', { w: word }), percentText(sinkOf(row))) : []),
      whole].filter(Boolean));
  }

  #drawOptions(scene, mounted) {
    const { d, p, a, f } = scene.state();
    const wanted = mounted.options ?? OPTIONS;
    const special = specialPieces(scene.look);
    const set = patch => () => scene.set(patch);
    const parts = {
      direction: () => radioGroup(t('direction'), [['out', t('looksOut')], ['in', t('looksIn')]], d, value => scene.set({ d: value })),
      pieces: () => toggle(t('joinPieces'), !p, set({ p: p ? 0 : 1 })),
      special: () => special.length > 0 && toggle(t('setSpecial', { list: listOf(special, 'andNames').textContent }), !!a, set({ a: a ? 0 : 1 })),
      sink: () => !scene.look.tokens[0]?.special && toggle(t('setSink'), !!f, set({ f: f ? 0 : 1 })),
    };
    const shown = wanted.map(name => parts[name]()).filter(Boolean);
    this.#options.hidden = shown.length === 0;
    keepFocus(this.#options, () => this.#options.replaceChildren(el('h2', {}, t('options')), ...shown));
  }
}
