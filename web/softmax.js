/** Weights of scores, of which −∞ are hidden; all 0 where nothing is seen. */
export function softmax(scores) {
  const max = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  if (max === -Infinity) return scores.map(() => 0);
  const powers = scores.map(score => Math.exp(score - max));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map(power => power / sum);
}
