/** Weights of scores, of which −∞ are hidden; all 0 where nothing is seen. `sink`: one more logit that takes its share. */
export function softmax(scores, sink = null) {
  const max = scores.reduce((a, b) => Math.max(a, b), sink ?? -Infinity);
  if (max === -Infinity) return scores.map(() => 0);
  const powers = scores.map(score => Math.exp(score - max));
  const sum = powers.reduce((a, b) => a + b, sink == null ? 0 : Math.exp(sink - max));
  return powers.map(power => power / sum);
}
