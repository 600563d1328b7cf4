// A part of the page as one SVG: what the browser laid out, with colours and fonts as attributes. Text stays text, inline
// SVG stays what it is, a canvas becomes an image. One way for all views, so that a picture is what was seen.
import { svg } from './dom.js';

const SHAPE_STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'opacity'];
const TEXT_STYLES = ['font-family', 'font-size', 'font-weight', 'font-style', 'font-stretch', 'letter-spacing', 'text-anchor'];
const CLEAR = 'rgba(0, 0, 0, 0)';
const SIDES = ['top', 'right', 'bottom', 'left'];

const rounded = x => Math.round(x * 100) / 100;

class Pictor {
  #origin;
  #out;

  constructor(root) {
    this.#origin = root.getBoundingClientRect();
    this.#out = svg('g');
  }

  #place(box) {
    return { x: rounded(box.x - this.#origin.x), y: rounded(box.y - this.#origin.y), width: rounded(box.width), height: rounded(box.height) };
  }

  /** Draws an element and what is in it. */
  draw(element) {
    const style = getComputedStyle(element);
    if (style.display === 'none' || style.visibility === 'hidden' || Number(style.opacity) === 0) return this.#out;
    const box = element.getBoundingClientRect();
    if (element instanceof SVGSVGElement) return this.#drawSvg(element, box);
    if (element instanceof HTMLCanvasElement) return this.#drawCanvas(element, box);
    if (style.clipPath === 'none') this.#drawBox(style, box);
    for (const child of element.childNodes) {
      if (child.nodeType === Node.ELEMENT_NODE) this.draw(child);
      else if (child.nodeType === Node.TEXT_NODE) this.#drawText(child, style);
    }
    return this.#out;
  }

  #drawBox(style, box) {
    if (box.width === 0 || box.height === 0) return;
    const place = this.#place(box);
    const radius = parseFloat(style.borderTopLeftRadius) || null;
    if (style.backgroundColor !== CLEAR) this.#out.append(svg('rect', { ...place, rx: radius, fill: style.backgroundColor }));
    const widths = SIDES.map(side => (style[`border-${side}-style`] === 'none' ? 0 : parseFloat(style[`border-${side}-width`])));
    const colours = SIDES.map(side => style[`border-${side}-color`]);
    if (widths.every(width => width > 0 && width === widths[0]) && colours[0] !== CLEAR) {
      const half = widths[0] / 2;
      this.#out.append(svg('rect', {
        x: place.x + half, y: place.y + half, width: place.width - 2 * half, height: place.height - 2 * half, rx: radius,
        fill: 'none', stroke: colours[0], 'stroke-width': widths[0],
      }));
    } else {
      SIDES.forEach((side, i) => this.#drawSide(side, widths[i], colours[i], place));
    }
  }

  #drawSide(side, width, colour, { x, y, width: w, height: h }) {
    if (width === 0 || colour === CLEAR) return;
    const bar = {
      top: { x, y, width: w, height: width }, bottom: { x, y: y + h - width, width: w, height: width },
      left: { x, y, width, height: h }, right: { x: x + w - width, y, width, height: h },
    }[side];
    this.#out.append(svg('rect', { ...bar, fill: colour }));
  }

  #drawCanvas(canvas, box) {
    if (canvas.width > 0 && canvas.height > 0) this.#out.append(svg('image', { ...this.#place(box), href: canvas.toDataURL() }));
    return this.#out;
  }

  #drawSvg(element, box) {
    const copy = element.cloneNode(true);
    const originals = [element, ...element.querySelectorAll('*')];
    [copy, ...copy.querySelectorAll('*')].forEach((part, i) => resolveStyle(part, originals[i]));
    const place = this.#place(box);
    for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
    if (!copy.hasAttribute('viewBox')) copy.setAttribute('viewBox', `0 0 ${place.width} ${place.height}`);
    copy.setAttribute('overflow', 'visible');
    this.#out.append(copy);
    return this.#out;
  }

  #drawText(node, style) {
    for (const { text, box } of linesOf(node)) {
      const size = parseFloat(style.fontSize);
      const rtl = style.direction === 'rtl';
      const place = this.#place(box);
      const line = svg('text', {
        // The middle of the line is the middle of the letters' height, of which the x-height's half is above the baseline.
        x: rtl ? rounded(place.x + place.width) : place.x, y: rounded(place.y + place.height / 2 + size * 0.34),
        direction: rtl ? 'rtl' : null, fill: style.color, 'xml:space': 'preserve',
        'text-decoration': style.textDecorationLine === 'none' ? null : style.textDecorationLine,
        opacity: opacityOf(node.parentElement),
      }, text);
      for (const name of TEXT_STYLES.slice(0, -1)) line.setAttribute(name, style.getPropertyValue(name));
      this.#out.append(line);
    }
  }
}

// What an element's ancestors leave of its opacity; null for all.
function opacityOf(element) {
  let opacity = 1;
  for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
  return opacity < 1 ? opacity : null;
}

function resolveStyle(part, original) {
  const style = getComputedStyle(original);
  const isText = original instanceof SVGTextContentElement;
  for (const name of isText ? [...SHAPE_STYLES, ...TEXT_STYLES] : SHAPE_STYLES) {
    part.setAttribute(name, style.getPropertyValue(name));
  }
  for (const name of ['class', 'style', 'id', 'tabindex', 'role', 'aria-label', 'aria-hidden', 'data-key']) part.removeAttribute(name);
}

/** The lines of a text node as they were broken: [{text, box}]. */
function linesOf(node) {
  const lines = [];
  const range = document.createRange();
  for (const { index, 0: word } of node.data.matchAll(/\S+/gu)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    if (box.width === 0) continue;
    const last = lines.at(-1);
    if (last && Math.abs(last.box.y - box.y) < 2) {
      last.text += ` ${word}`;
      range.setStart(node, last.start);
      last.box = range.getBoundingClientRect();
    } else {
      lines.push({ text: word, box, start: index });
    }
  }
  return lines;
}

/** `root` as an SVG element of its size. */
export function pictureOf(root) {
  const { width, height } = root.getBoundingClientRect();
  const picture = svg('svg', { width: Math.ceil(width), height: Math.ceil(height), viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}` });
  picture.append(new Pictor(root).draw(root));
  return picture;
}
