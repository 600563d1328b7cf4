// The scales of the page, each given by nine stops that are even in OKLab lightness; between them it is interpolated there.
// Lightness carries the value, hue only names the scale.

const STOPS = {
  light: {
    gaze: 'f6fafa cee1e3 9ccbd1 5cb6c3 339cac 128293 036777 0e4c59 15333a',
    difference: 'a34000 be6f3e d69b77 ebc8b2 f7f7f7 d5c8f0 b39cdf 9371ca 7444b4',
  },
  dark: {
    gaze: '131b1d 1c3337 0e4f58 006e7b 008b97 17a6af 58c1c6 8edadc c3f3f2',
    difference: 'f49d56 bc7a45 865936 533b28 1f1f1f 443b56 6c5a8c 967bc5 c29fff',
  },
};
const STEPS = 256;

const toLinear = c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const toGamma = c => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);
const clamp01 = t => Math.min(1, Math.max(0, t));

const linearOfHex = hex => [0, 2, 4].map(i => toLinear(parseInt(hex.slice(i, i + 2), 16) / 255));

function toOklab([r, g, b]) {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map(c => Math.round(255 * clamp01(toGamma(clamp01(c)))));
}

/** A scale as [256] colours of [r, g, b]. */
function tableOf(stops, change = lab => lab) {
  const labs = stops.split(' ').map(hex => change(toOklab(linearOfHex(hex))));
  return Array.from({ length: STEPS }, (_, i) => {
    const at = (i / (STEPS - 1)) * (labs.length - 1);
    const low = Math.min(labs.length - 2, Math.floor(at));
    return fromOklab(labs[low].map((v, k) => v + (labs[low + 1][k] - v) * (at - low)));
  });
}

function scalesOf({ gaze, difference }) {
  return {
    gaze: tableOf(gaze),
    special: tableOf(gaze, ([L]) => [L, -0.004, -0.002]),  // grey of the same lightness
    difference: tableOf(difference),
  };
}

const SCALES = { light: scalesOf(STOPS.light), dark: scalesOf(STOPS.dark) };
let scales = SCALES.light;

export function setTheme(theme) {
  scales = SCALES[theme];
}

const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
const at = (scale, t) => scales[scale][Math.round(clamp01(Number.isFinite(t) ? t : 0) * (STEPS - 1))];
const scaleOf = special => (special ? 'special' : 'gaze');

/** Weight to place on the scale: 0.05 stays visible beside 0.7. Every legend prints its ticks. */
export const ease = weight => Math.abs(weight) ** 0.6;

/** The same for long texts, where one weight may be 1/100,000: `weight` times n, by its logarithm. */
export const easeLong = (weight, n) => (weight > 0 ? clamp01((Math.log10(weight * n) + 1.2) / 4.8) : 0);

/** Colour of a place t in 0..1 on the scale of weights. */
export const gazeAt = (t, special = false) => css(at(scaleOf(special), t));

/** Colour of a weight. */
export const gaze = (weight, special = false) => gazeAt(ease(weight), special);

/** The scale of weights as [256] of [r, g, b], for canvases. */
export const gazeTable = (special = false) => scales[scaleOf(special)];

const placeOfDifference = (x, max) => 0.5 + (Math.sign(x) * ease(Math.min(1, Math.abs(x) / max))) / 2;

/** Colour of a signed number: orange below 0, violet above. */
export const difference = (x, max = 1) => css(at('difference', placeOfDifference(x, max)));

const luminance = rgb => {
  const [r, g, b] = rgb.map(c => toLinear(c / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

// Black or white, whichever contrasts more; between them every tint reaches 4.5 : 1.
const inkOver = rgb => ((luminance(rgb) + 0.05) ** 2 >= 0.05 * 1.05 ? 'rgb(0 0 0)' : 'rgb(255 255 255)');

/** Ink on the colour of the same arguments. */
export const inkAt = (t, special = false) => inkOver(at(scaleOf(special), t));
export const inkOn = (weight, special = false) => inkAt(ease(weight), special);

/** Colours and fonts of the page, as canvases take them. */
export function inksOf(element) {
  const style = getComputedStyle(element);
  const value = name => style.getPropertyValue(name).trim();
  const names = ['paper', 'ink', 'soft', 'edge', 'line', 'gaze', 'a', 'serif', 'sans'];
  return Object.fromEntries(names.map(name => [name, value(`--${name}`)]));
}
