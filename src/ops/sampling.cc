#include "src/ops/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sightline/error.h"
#include "src/ops/exact_math.h"

namespace sightline::ops {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

void require(bool holds, const char* option, double value, const char* range) {
  if (!holds) throw BadArgument(fmt::format("{} is {}: it can be {}", option, value, range));
}

std::span<const std::int32_t> last_of(std::span<const std::int32_t> past, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(past.size());
  return past.last(static_cast<std::size_t>(count < 0 ? size : std::min(count, size)));
}

}  // namespace

void require_sampling(const model::SamplingOptions& options) {
  const auto finite = [](double value) { return std::isfinite(value); };
  require(finite(options.temperature) && options.temperature >= 0, "temp", options.temperature, "0 or more");
  require(options.top_k >= 0, "top-k", static_cast<double>(options.top_k), "0 (all tokens) or more");
  require(options.top_p > 0 && options.top_p <= 1, "top-p", options.top_p, "above 0, up to 1 (all tokens)");
  require(options.min_p >= 0 && options.min_p <= 1, "min-p", options.min_p, "0 (all tokens) to 1");
  require(finite(options.repeat_penalty) && options.repeat_penalty > 0, "repeat-penalty", options.repeat_penalty,
          "above 0 (1 is none)");
  require(options.repeat_last >= -1, "repeat-last-n", static_cast<double>(options.repeat_last),
          "-1 (all tokens), 0 (none) or more");
}

Sampler::Sampler(const model::SamplingOptions& options) : options_(options), random_(options.seed) {
  require_sampling(options);
}

void Sampler::skip(std::uint64_t numbers) {
  for (std::uint64_t i = 0; i < numbers; ++i) random_.bits();
  drawn_ += numbers;
}

std::optional<std::int32_t> Sampler::next(std::span<const float> logits, std::span<const std::int32_t> past) {
  collect(logits);
  if (options_.repeat_penalty != 1) penalise(last_of(past, options_.repeat_last));
  const auto best = std::max_element(logits_.begin(), logits_.end());
  if (best == logits_.end() || *best == kNone) return std::nullopt;
  if (options_.temperature == 0) return static_cast<std::int32_t>(best - logits_.begin());
  best_ = *best;
  if (std::isinf(best_)) return static_cast<std::int32_t>(best - logits_.begin());  // it has all the probability
  candidates_.clear();
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (logits_[i] != kNone) candidates_.push_back({logits_[i], static_cast<std::int32_t>(i)});
  }
  keep_top_k();
  keep_top_p();
  keep_min_p();
  return draw();
}

void Sampler::collect(std::span<const float> logits) {
  logits_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) logits_[i] = std::isnan(logits[i]) ? kNone : logits[i];
}

// Each token once, however often it was seen.
void Sampler::penalise(std::span<const std::int32_t> past) {
  std::vector<std::int32_t> seen(past.begin(), past.end());
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const std::int32_t id : seen) {
    if (id < 0 || std::cmp_greater_equal(id, logits_.size())) continue;
    double& logit = logits_[static_cast<std::size_t>(id)];
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
  }
}

// The likeliest `count` stand first, in order; the order of all tokens is one, so that it does not matter how many of
// them were ever sorted.
void Sampler::sort_first(std::size_t count) {
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count), candidates_.end(),
                    likelier);
}

void Sampler::keep_top_k() {
  if (options_.top_k == 0 || std::cmp_greater_equal(options_.top_k, candidates_.size())) return;
  sort_first(static_cast<std::size_t>(options_.top_k));
  candidates_.resize(static_cast<std::size_t>(options_.top_k));
}

// Few tokens have most of the probability, so that few are sorted.
void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  double total = 0;
  for (const Candidate& c : candidates_) total += exact_exp(c.logit - best_);
  for (std::size_t sorted = std::min<std::size_t>(256, candidates_.size());;
       sorted = std::min(8 * sorted, candidates_.size())) {
    sort_first(sorted);
    double sum = 0;
    for (std::size_t i = 0; i < sorted; ++i) {
      sum += exact_exp(candidates_[i].logit - best_);
      if (sum < options_.top_p * total) continue;
      candidates_.resize(i + 1);
      return;
    }
    if (sorted == candidates_.size()) return;
  }
}

void Sampler::keep_min_p() {
  if (options_.min_p <= 0) return;
  std::erase_if(candidates_, [&](const Candidate& c) { return exact_exp(c.logit - best_) < options_.min_p; });
}

// One number of the generator, whatever the candidates: its share of the whole, tokens in ascending order of id.
std::int32_t Sampler::draw() {
  if (!std::ranges::is_sorted(candidates_, {}, &Candidate::id)) std::ranges::sort(candidates_, {}, &Candidate::id);
  double total = 0;
  for (Candidate& c : candidates_) {
    c.logit = exact_exp((c.logit - best_) / options_.temperature);  // its probability, from here on
    total += c.logit;
  }
  const double at = random_.uniform() * total;
  ++drawn_;
  double sum = 0;
  std::int32_t last = candidates_.front().id;
  for (const Candidate& c : candidates_) {
    if (c.logit == 0) continue;
    sum += c.logit;
    last = c.id;
    if (at < sum) break;
  }
  return last;
}

double log_probability(std::span<const float> logits, std::int32_t id) {
  double best = kNone, total = 0;
  for (const float logit : logits) best = std::max(best, static_cast<double>(logit));
  for (const float logit : logits) total += exact_exp(logit - best);
  return logits[static_cast<std::size_t>(id)] - best - exact_ln(total);
}

}  // namespace sightline::ops
