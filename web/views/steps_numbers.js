// The four steps of one row in numbers: dot, score, weight, mix, with a divisor and a mask of the reader's choice.
import { softmax } from '../softmax.js';
import { entropy } from '../look.js';

/** Frobenius norm of the softmax's Jacobian, diag(w) − w wᵀ: how much weights still move where scores do. */
export function gradientOf(weights) {
  let squares = 0;
  let cubes = 0;
  for (const w of weights) {
    squares += w * w;
    cubes += w * w * w;
  }
  return Math.sqrt(Math.max(0, squares - 2 * cubes + squares * squares));
}

/** From an explanation of the report. `divisor`: null = the model's own; `causal` hides keys after the token.
 * @returns {{dots, scores, weights, sinkWeight, output, entropy, gradient}} scores of hidden keys are −∞; output null without
 *   values; sinkWeight null without a sink */
export function stepsOf(explanation, { divisor = null, causal = false }) {
  const { keys, token, query, softcap, sink } = explanation;
  const capped = score => (softcap > 0 ? softcap * Math.tanh(score / softcap) : score);
  const hidden = (key, j) => key.score == null || (causal && j > token);
  const dots = keys.map(key => key.dot ?? NaN);
  const scores = keys.map((key, j) => (hidden(key, j) ? -Infinity : divisor == null ? key.score : capped(dots[j] / divisor)));
  const weights = softmax(scores, sink?.logit);
  const values = keys.map(key => key.value);
  const output = values.every(Boolean)
    ? Array.from({ length: values[0].length }, (_, d) => weights.reduce((sum, w, j) => sum + w * values[j][d], 0))
    : null;
  const sinkWeight = sink ? 1 - weights.reduce((a, b) => a + b, 0) : null;
  return { query, dots, scores, weights, sinkWeight, output, entropy: entropy(weights), gradient: gradientOf(weights) };
}

/** What the model divides by: √D as a rule. */
export const ownDivisor = ({ scale }) => 1 / scale;

/** Tokens that have a row of their own: all of a short text; of a longer one those with most weight, in their order. */
export function rowsOf(weights, most, always) {
  if (weights.length <= most) return weights.map((_, j) => j);
  const heaviest = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]).slice(0, most - always.length);
  return [...new Set([...heaviest, ...always])].sort((a, b) => a - b);
}
