#ifndef SIGHTLINE_OPS_EXPERTS_H_
#define SIGHTLINE_OPS_EXPERTS_H_

#include <cstdint>
#include <vector>

namespace sightline::ops {

/// A row that goes to an expert, and the weight of what the expert gives.
struct ExpertRow {
  std::int64_t row = 0;
  float weight = 0;
};

/// The experts of some rows: rows[expert] ascend.
struct ExpertChoice {
  std::vector<std::vector<ExpertRow>> rows;  // [experts]
};

/// Each row goes to the `used` experts with its largest logits (ties: the lower index first, NaN never before a
/// number), weighted by the softmax over those. logits [rows, experts].
ExpertChoice choose_experts(const float* logits, std::int64_t rows, std::int64_t experts, std::int64_t used);

/// y[chosen row i] += weight of i * x[i], one fma an element: x [chosen.size(), width], y [rows, width]. Called expert
/// by expert, ascending, a row's sum depends on that row alone.
void add_expert(const std::vector<ExpertRow>& chosen, const float* x, std::int64_t width, float* y, int threads);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_EXPERTS_H_
