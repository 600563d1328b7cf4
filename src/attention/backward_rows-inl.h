// What the backward pass needs of each row before it begins: the state that weights are made from, and delta.

#if defined(SIGHTLINE_ATTENTION_BACKWARD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BACKWARD_ROWS_INL_H_
#undef SIGHTLINE_ATTENTION_BACKWARD_ROWS_INL_H_
#else
#define SIGHTLINE_ATTENTION_BACKWARD_ROWS_INL_H_
#endif

#include <algorithm>

#include "src/attention/backward_group.h"
#include "src/attention/final_state-inl.h"
#include "src/attention/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class RowsBackward {
 public:
  explicit RowsBackward(const BackwardHead& head)
      : head_(head), out_(size()), dout_(size()), with_sink_(head.problem.sinks != nullptr) {}

  // Returns dL/d(sink). A head that is knocked out has an output of 0, whatever it would be.
  double run() {
    if (head_.out_scale() == 0) return 0;
    double sum = 0;
    for (std::int64_t row = 0; row < head_.problem.rows; row += kChains) {
      const auto count = static_cast<int>(std::min<std::int64_t>(head_.problem.rows - row, kChains));
      alignas(64) float sink_weights[kChains];
      finish_state(row, count, sink_weights);
      for (int i = 0; i < count; ++i) {
        head_.rows.delta[row + i] = delta(row + i);
        const bool sees = head_.rows.row_sum[row + i] != 0;
        if (with_sink_ && sees) sum -= static_cast<double>(sink_weights[i]) * head_.rows.delta[row + i];
      }
    }
    return sum;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(head_.problem.value_width); }

  void finish_state(std::int64_t row, int count, float* sink_weights) const {
    alignas(64) float max[kChains] = {}, sum[kChains] = {};
    std::copy_n(head_.rows.row_max + row, count, max);
    std::copy_n(head_.rows.row_sum + row, count, sum);
    for (std::size_t i = 0; i < kChains; i += kLanes) {
      FinalState state = final_state(load(max + i), load(sum + i));
      if (with_sink_) {
        const F sink = splat(*head_.problem.sinks);
        state = final_state(load(max + i), load(sum + i), sink);
        store(final_weight(sink, state.max, state.inverse), sink_weights + i);
      }
      store(state.max, max + i);
      store(state.inverse, sum + i);
    }
    std::copy_n(max, count, head_.rows.reference + row);
    std::copy_n(sum, count, head_.rows.inverse + row);
  }

  // In fp64, since what follows subtracts it.
  float delta(std::int64_t row) {
    const std::int64_t width = head_.problem.value_width;
    widen(head_.out, row, width, out_.data());
    widen(head_.dout, row, width, dout_.data());
    double sums[4] = {};
    for (std::int64_t t = 0; t < width; ++t) {
      sums[t % 4] += static_cast<double>(out_[t]) * static_cast<double>(dout_[t]);
    }
    return static_cast<float>((sums[0] + sums[2]) + (sums[1] + sums[3]));
  }

  const BackwardHead& head_;
  AlignedBuffer<float> out_, dout_;
  const bool with_sink_;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BACKWARD_ROWS_INL_H_
