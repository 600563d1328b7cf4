#include "src/ops/likelihood.h"

#include <algorithm>
#include <limits>

#include "src/ops/exact_math.h"

namespace sightline::ops {
namespace {

// An order of all tokens, from the likeliest down.
class Likelier {
 public:
  explicit Likelier(std::span<const float> logits) : logits_(logits) {}
  bool operator()(std::int32_t a, std::int32_t b) const {
    const float of_a = logits_[static_cast<std::size_t>(a)], of_b = logits_[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  }

 private:
  std::span<const float> logits_;
};

// The first `count` in that order. Few tokens of a large vocabulary ever enter the list.
std::vector<std::int32_t> first_tokens(std::span<const float> logits, std::size_t count) {
  const Likelier likelier(logits);
  std::vector<std::int32_t> first;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (first.size() == count && (count == 0 || !likelier(id, first.back()))) continue;
    first.insert(std::ranges::upper_bound(first, id, likelier), id);
    if (first.size() > count) first.pop_back();
  }
  return first;
}

std::int64_t rank_of(std::span<const float> logits, std::int32_t id) {
  const float own = logits[static_cast<std::size_t>(id)];
  const auto before = logits.first(static_cast<std::size_t>(id));
  return 1 + std::ranges::count_if(logits, [own](float logit) { return logit > own; }) +
         std::ranges::count(before, own);
}

}  // namespace

LogSoftmax::LogSoftmax(std::span<const float> logits) : best_(-std::numeric_limits<double>::infinity()) {
  double total = 0;
  for (const float logit : logits) best_ = std::max(best_, static_cast<double>(logit));
  for (const float logit : logits) total += exact_exp(logit - best_);
  ln_total_ = exact_ln(total);
}

Likelihood likelihood(std::span<const float> logits, std::int32_t id, int top) {
  const LogSoftmax log_softmax(logits);
  const auto of = [&](std::int32_t token) { return log_softmax(logits[static_cast<std::size_t>(token)]); };
  Likelihood result{of(id), rank_of(logits, id), {}};
  for (const std::int32_t likely : first_tokens(logits, static_cast<std::size_t>(top))) {
    result.likeliest.push_back({likely, of(likely)});
  }
  return result;
}

}  // namespace sightline::ops
