// Elements without innerHTML: text only ever becomes a text node, styles go through CSSOM, so that a strict
// Content-Security-Policy holds and no text of a user is ever markup.

const SVG = 'http://www.w3.org/2000/svg';

function setStyle(element, style) {
  for (const [name, value] of Object.entries(style)) {
    if (name.startsWith('--')) element.style.setProperty(name, value);
    else element.style[name] = value;
  }
}

function setProperties(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value == null || value === false) continue;
    if (name === 'style') setStyle(element, value);
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child != null && child !== false && child !== '') element.append(child);
  }
  return element;
}

/** An HTML element. Properties: attributes, `style` (an object), `onEVENT`; null and false are left out. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  setProperties(element, properties);
  return append(element, children);
}

/** The same for SVG. */
export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  setProperties(element, properties);
  return append(element, children);
}

/** A word of the text: in italics, its direction kept to itself. */
export function wordElement(label) {
  return el('em', { class: 'word', dir: 'auto' }, label);
}

/** Redraws `box` by `draw`; the control that had the focus, known by its data-key, has it afterwards. */
export function keepFocus(box, draw) {
  const active = document.activeElement;
  const key = box.contains(active) ? active.dataset.key : undefined;
  draw();
  if (key === undefined || document.activeElement === active) return;
  box.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

let ruler = null;

/** Width in pixels of `text` in a CSS font; `stretch` as the canvas names it. */
export function textWidth(text, font, stretch = 'normal') {
  ruler ??= document.createElement('canvas').getContext('2d');
  ruler.font = font;
  ruler.fontStretch = stretch;
  return ruler.measureText(text).width;
}

/** The tip beside the pointer. It repeats what is on the page as text or as an accessible name, so it is hidden from
 * screen readers. */
export function showTip(text, x, y) {
  const tip = document.getElementById('tip');
  tip.textContent = text;
  tip.classList.add('on');
  const box = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(innerWidth - box.width - 8, x - box.width / 2));
  const above = y - box.height - 10;
  setStyle(tip, { left: `${left}px`, top: `${above < 4 ? y + 16 : above}px` });
}

export function hideTip() {
  document.getElementById('tip').classList.remove('on');
}

/** Properties that show a tip above an element while the pointer is on it. `text` is asked when it is needed. */
export function withTip(text) {
  return {
    onmouseenter: event => {
      const box = event.currentTarget.getBoundingClientRect();
      showTip(text(), box.x + box.width / 2, box.y);
    },
    onmouseleave: hideTip,
  };
}
