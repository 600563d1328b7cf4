// The scale of weights with its ticks, as every place that colours by weight shows it.
import { ease, easeLong, gazeAt } from './colour.js';
import { svg } from './dom.js';

const TICKS = [[0, '0'], [0.05, '.05'], [0.2, '.2'], [0.5, '.5'], [1, '1']];
const LONG_TICKS = [[0.1, '0.1'], [1, '1'], [10, '10'], [100, '100'], [1000, '1,000']];  // weight × n
const SLICES = 64;

function scaleBar(width, ticks) {
  const slices = Array.from({ length: SLICES }, (_, i) =>
    svg('rect', { x: (i * width) / SLICES, y: 0, width: width / SLICES + 0.5, height: 8, fill: gazeAt(i / (SLICES - 1)) }));
  const labels = ticks.map(([place, label], i) => {
    const anchor = i === 0 ? 'start' : i === ticks.length - 1 ? 'end' : 'middle';
    return svg('text', { x: place * width, y: 21, 'text-anchor': anchor }, label);
  });
  return svg('svg', { class: 'legend', viewBox: `0 0 ${width} 26`, width, height: 26, 'aria-hidden': 'true' }, slices, labels);
}

export const legend = width => scaleBar(width, TICKS.map(([weight, label]) => [ease(weight), label]));

export const longLegend = width => scaleBar(width, LONG_TICKS.map(([weight, label]) => [easeLong(weight, 1), label]));
