// What the page saves: the view as PNG or SVG, with its question, its finding and the caveat, and the look as one file.
import { inksOf } from './colour.js';
import { svg } from './dom.js';
import { t } from './i18n.js';
import { pictureOf } from './picture.js';

const MARGIN = 32;
const HEAD_GAP = 20;
const FOOT = 52;
const PNG_SCALE = 2;     // pixels a px, so that small labels print
const REVOKE_AFTER = 60_000;  // ms that a browser has to begin saving

/** `src` of a font face as a data URL: nothing is asked of a server when the picture is opened. */
async function embeddedFont(rule) {
  const [, url] = /url\("?([^")]+)"?\)/.exec(rule.style.getPropertyValue('src')) ?? [];
  if (!url) return null;
  if (url.startsWith('data:')) return url;
  const response = await fetch(new URL(url, rule.parentStyleSheet.href ?? location.href));
  if (!response.ok) return null;
  const bytes = new Uint8Array(await response.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return `data:font/woff2;base64,${btoa(text)}`;
}

/** The font faces of the page that `picture` uses, as the text of a style element. */
async function fontFaces(picture) {
  const used = new Set();
  for (const text of picture.querySelectorAll('[font-family]')) {
    used.add(`${text.getAttribute('font-family')} ${text.getAttribute('font-style')}`);
  }
  const families = [...used].join(' ');
  const faces = [];
  for (const rule of [...document.styleSheets].flatMap(sheet => [...sheet.cssRules])) {
    if (!(rule instanceof CSSFontFaceRule)) continue;
    const family = rule.style.getPropertyValue('font-family').replaceAll('"', '');
    const italic = rule.style.getPropertyValue('font-style') === 'italic';
    if (!families.includes(family) || (italic && !/italic/.test(families))) continue;
    const url = await embeddedFont(rule);
    if (!url) continue;
    const rest = ['font-weight', 'font-style', 'font-stretch', 'unicode-range']
      .map(name => [name, rule.style.getPropertyValue(name)]).filter(([, value]) => value).map(([name, value]) => `${name}:${value}`);
    faces.push(`@font-face{font-family:"${family}";src:url(${url}) format("woff2");${rest.join(';')}}`);
  }
  return faces.join('\n');
}

function placed(part, x, y) {
  part.setAttribute('x', x);
  part.setAttribute('y', y);
  part.setAttribute('overflow', 'visible');
  return part;
}

// The mark of the caveat is the beam: it opens from a point.
function caveatLine(inks, width, y, context) {
  const model = context.look.model.name;
  return svg('g', {},
    svg('path', { d: `M${MARGIN} ${y + 12}L${MARGIN + 22} ${y}L${MARGIN + 22} ${y + 6}Z`, fill: inks.gaze }),
    svg('text', { x: MARGIN + 34, y: y + 11, 'font-family': inks.serif, 'font-size': 16, 'font-style': 'italic', fill: inks.ink }, t('caveat')),
    svg('text', { x: width - MARGIN, y: y + 11, 'text-anchor': 'end', 'font-family': inks.sans, 'font-size': 12, fill: inks.soft },
      `${model} · Sightline`));
}

/** The view as one SVG that says what it shows and what it does not. */
export async function wholePicture(context, mounted) {
  const inks = inksOf(document.documentElement);
  const lead = pictureOf(document.querySelector('.lead'));
  const view = mounted.svg?.() ?? pictureOf(document.getElementById('view'));
  const size = part => [Number(part.getAttribute('width')), Number(part.getAttribute('height'))];
  const [leadWidth, leadHeight] = size(lead);
  const [viewWidth, viewHeight] = size(view);
  const width = Math.max(leadWidth, viewWidth, 480) + 2 * MARGIN;
  const height = MARGIN + leadHeight + HEAD_GAP + viewHeight + FOOT;
  const picture = svg('svg', { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}` },
    svg('title', {}, document.title), svg('desc', {}, `${t('caveat')} ${context.look.text.slice(0, 2000)}`),
    svg('rect', { width, height, fill: inks.paper }),
    placed(lead, MARGIN, MARGIN), placed(view, MARGIN, MARGIN + leadHeight + HEAD_GAP),
    caveatLine(inks, width, height - 30, context));
  const faces = await fontFaces(picture);
  picture.prepend(svg('style', {}, `${faces}\n.tabular{font-feature-settings:"tnum","lnum"}`));
  return picture;
}

const svgBlob = picture => new Blob([new XMLSerializer().serializeToString(picture)], { type: 'image/svg+xml' });

async function pngBlob(picture) {
  const image = new Image();
  const url = URL.createObjectURL(svgBlob(picture));
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = Number(picture.getAttribute('width')) * PNG_SCALE;
    canvas.height = Number(picture.getAttribute('height')) * PNG_SCALE;
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error(`${canvas.width} × ${canvas.height}`))), 'image/png');
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

function nameOf({ view, l, h }, ending) {
  return `sightline-${view}-L${l}${h ? `H${h}` : ''}.${ending}`;
}

function download(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER);
}

const blobOf = {
  png: async (context, mounted) => pngBlob(await wholePicture(context, mounted)),
  svg: async (context, mounted) => svgBlob(await wholePicture(context, mounted)),
  html: context => context.source.page({ look: context.look.id, maps: context.chosenMaps() }, { signal: context.signal }),
};

/** What the menu offers. */
export const formats = [
  { id: 'png', labelKey: 'savePng', available: (_, mounted) => mounted !== null },
  { id: 'svg', labelKey: 'saveSvg', available: (_, mounted) => mounted !== null },
  { id: 'html', labelKey: 'saveHtml', available: context => context?.source.kind === 'server' },
];

/** Makes the file and hands it to the browser. Throws where it cannot be made. */
export async function save(id, context, mounted) {
  const { v, l, h } = context.state();
  const blob = await blobOf[id](context, mounted);
  const name = id === 'html' ? 'sightline.html' : nameOf({ view: v, l, h }, id);
  download(blob, name);
  context.announce(t('saved', { name }));
}
