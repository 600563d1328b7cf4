// A part of the page as one SVG: what the browser laid out, with colours and fonts as attributes. Text stays text, inline
// SVG stays what it is, a canvas becomes an image. One way for all views, so that a picture is what was seen. What is
// marked data-picture="no" is left out: buttons do nothing in a picture.
import { svg } from './dom.js';

const SHAPE_STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'opacity'];
const TEXT_STYLES = ['font-family', 'font-size', 'font-weight', 'font-style', 'font-stretch', 'letter-spacing', 'text-anchor'];
const CLEAR = 'rgba(0, 0, 0, 0)';
const RING = /^(rgb[^)]*\)) 0px 0px 0px ([\d.]+)px inset$/;  // what marks a chosen word
const SIDES = ['top', 'right', 'bottom', 'left'];

const rounded = x => Math.round(x * 100) / 100;

let ruler = null;

/** How far below the upper edge of its line a text's baseline lies. */
function ascentOf(style) {
  ruler ??= document.createElement('canvas').getContext('2d');
  ruler.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  return ruler.measureText('x').fontBoundingBoxAscent;
}

// Kept for screen readers alone.
const isUnseen = (style, box) => style.position === 'absolute' && style.overflow === 'hidden' && box.width <= 1;

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
    if (element.dataset.picture === 'no' || isUnseen(style, box)) return this.#out;
    if (element.matches('input[type=range]')) return this.#drawSlider(element, style, box);
    if (element.matches('[role=switch] i')) this.#drawKnob(element, style, box);
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
    const [, ringColour, ring] = RING.exec(style.boxShadow) ?? [];
    if (ring) this.#drawFrame(place, Number(ring), radius, ringColour);
    const widths = SIDES.map(side => (style[`border-${side}-style`] === 'none' ? 0 : parseFloat(style[`border-${side}-width`])));
    const colours = SIDES.map(side => style[`border-${side}-color`]);
    if (widths.every(width => width > 0 && width === widths[0]) && colours[0] !== CLEAR) {
      this.#drawFrame(place, widths[0], radius, colours[0]);
    } else {
      SIDES.forEach((side, i) => this.#drawSide(side, widths[i], colours[i], place));
    }
  }

  #drawFrame({ x, y, width, height }, line, radius, colour) {
    const half = line / 2;
    this.#out.append(svg('rect', {
      x: x + half, y: y + half, width: width - line, height: height - line, rx: radius, fill: 'none', stroke: colour, 'stroke-width': line,
    }));
  }

  #drawSide(side, width, colour, { x, y, width: w, height: h }) {
    if (width === 0 || colour === CLEAR) return;
    const bar = {
      top: { x, y, width: w, height: width }, bottom: { x, y: y + h - width, width: w, height: width },
      left: { x, y, width, height: h }, right: { x: x + w - width, y, width, height: h },
    }[side];
    this.#out.append(svg('rect', { ...bar, fill: colour }));
  }

  #drawSlider(input, style, box) {
    const { x, y, width, height } = this.#place(box);
    const share = (input.value - input.min) / (input.max - input.min);
    this.#out.append(
      svg('rect', { x, y: y + height / 2 - 2, width, height: 4, rx: 2, fill: style.accentColor, opacity: 0.4 }),
      svg('circle', { cx: rounded(x + height / 2 + share * (width - height)), cy: y + height / 2, r: 7, fill: style.accentColor }));
    return this.#out;
  }

  #drawKnob(track, style, box) {
    const { x, y, width, height } = this.#place(box);
    const on = track.parentElement.getAttribute('aria-checked') === 'true';
    this.#out.append(svg('circle', { cx: on ? x + width - height / 2 : x + height / 2, cy: y + height / 2, r: height / 4, fill: style.borderTopColor }));
  }

  #drawCanvas(canvas, box) {
    if (canvas.width === 0 || canvas.height === 0) return this.#out;
    const squares = getComputedStyle(canvas).imageRendering === 'pixelated';
    this.#out.append(svg('image', { ...this.#place(box), href: canvas.toDataURL(), 'image-rendering': squares ? 'pixelated' : null }));
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
      const rtl = style.direction === 'rtl';
      const place = this.#place(box);
      const line = svg('text', {
        x: rtl ? rounded(place.x + place.width) : place.x, y: rounded(place.y + ascentOf(style)),
        direction: rtl ? 'rtl' : null, fill: style.color, 'xml:space': 'preserve',
        'text-decoration': style.textDecorationLine === 'none' ? null : style.textDecorationLine,
        opacity: opacityOf(node.parentElement), class: /tnum/.test(style.fontFeatureSettings) ? 'tabular' : null,
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
