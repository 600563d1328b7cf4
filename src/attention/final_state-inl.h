// The state that a row's weights are made from: the sink enters here, once, at the end.

#if defined(SIGHTLINE_ATTENTION_FINAL_STATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_FINAL_STATE_INL_H_
#undef SIGHTLINE_ATTENTION_FINAL_STATE_INL_H_
#else
#define SIGHTLINE_ATTENTION_FINAL_STATE_INL_H_
#endif

#include "src/attention/head_problem.h"
#include "src/observe/weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Of one vector of rows. Weights are exp(score - max) * inverse; sums that are relative to the keys' maximum m become
// weights by `norm`.
struct FinalState {
  F max, sum;  // m' = max(m, sink), l' = l exp(m - m') + exp(sink - m')
  F inverse;   // 1 / l', 0 for rows with nothing to see
  F norm;      // exp(m - m') / l'
};

HWY_INLINE FinalState final_state(F m, F l) {
  const F inverse = inverse_sum(l);
  return {m, l, inverse, inverse};
}
HWY_INLINE FinalState final_state(F m, F l, F sink) {
  const F max = max_or_second(sink, m);
  const F moved = exp2_nonpositive(exponent(m, max));
  const F sum = fma(l, moved, exp2_nonpositive(exponent(sink, max)));
  const F inverse = inverse_sum(sum);
  return {max, sum, inverse, hn::Mul(moved, inverse)};
}

// The sink logits of a tile's rows, -inf where the problem has none. [lanes].
inline void sinks_of(const HeadProblem& head, const TileRows& tile, float* sinks) {
  for (int lane = 0; lane < tile.lanes; ++lane) {
    sinks[lane] = head.sinks == nullptr ? -__builtin_inff() : head.sinks[tile.head(lane)];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_FINAL_STATE_INL_H_
