// A word as something to choose: hover previews, a click or Enter chooses.
import { el } from '../dom.js';

/** `actions`: choose(item), preview(item), leave(). */
export function wordOption(axis, item, actions, properties = {}, children = axis.label(item)) {
  return el('button', {
    type: 'button', role: 'option', dir: 'auto', 'data-key': `word ${item}`,
    onclick: () => actions.choose(item),
    onmouseenter: () => actions.preview(item),
    onmouseleave: () => actions.leave(),
    ...properties,
  }, children);
}
