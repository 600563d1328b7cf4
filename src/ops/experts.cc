#include "src/ops/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/cpu/dispatch.h"
#include "src/cpu/target.h"
#include "src/ops/row_tasks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/experts.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace {

void add_scaled(const float* HWY_RESTRICT x, float factor, std::int64_t width, float* HWY_RESTRICT y) {
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(kLanes) <= width; i += kLanes) {
    store(fma(load(x + i), splat(factor), load(y + i)), y + i);
  }
  for (; i < width; ++i) y[i] = hn::GetLane(fma(splat(x[i]), splat(factor), splat(y[i])));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sightline {
HWY_EXPORT(add_scaled);

namespace ops {
namespace {

constexpr std::int64_t kTaskRows = 16;

bool larger(float a, float b) { return a > b || (!std::isnan(a) && std::isnan(b)); }

// exp(logit - the largest) / their sum, in fp64 and rounded once.
void add_softmax(const float* logits, const std::vector<std::int64_t>& best, std::int64_t row, ExpertChoice& choice) {
  double sum = 0;
  const double top = logits[best[0]];
  for (const std::int64_t expert : best) sum += std::exp(logits[expert] - top);
  for (const std::int64_t expert : best) {
    choice.rows[expert].push_back({row, static_cast<float>(std::exp(logits[expert] - top) / sum)});
  }
}

}  // namespace

ExpertChoice choose_experts(const float* logits, std::int64_t rows, std::int64_t experts, std::int64_t used) {
  ExpertChoice choice{std::vector<std::vector<ExpertRow>>(experts)};
  std::vector<std::int64_t> order(experts), best;
  for (std::int64_t row = 0; row < rows; ++row, logits += experts) {
    std::iota(order.begin(), order.end(), 0);
    const auto before = [logits](std::int64_t a, std::int64_t b) {
      if (larger(logits[a], logits[b])) return true;
      return !larger(logits[b], logits[a]) && a < b;
    };
    std::partial_sort(order.begin(), order.begin() + used, order.end(), before);
    best.assign(order.begin(), order.begin() + used);
    add_softmax(logits, best, row, choice);
  }
  return choice;
}

void add_expert(const std::vector<ExpertRow>& chosen, const float* x, std::int64_t width, float* y, int threads) {
  cpu::ensure_target();
  const auto add = SIGHTLINE_DISPATCH(add_scaled);
  for_each_row(std::ssize(chosen), 1, kTaskRows, threads,
               [&](std::int64_t i) { add(x + i * width, chosen[i].weight, width, y + chosen[i].row * width); });
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
