#ifndef SIGHTLINE_OPS_SAMPLING_H_
#define SIGHTLINE_OPS_SAMPLING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sightline/generation.h"
#include "src/ops/random.h"

namespace sightline::ops {

/// Throws BadArgument naming the option that is out of its range, as llama.cpp's users spell it.
void require_sampling(const model::SamplingOptions& options);

/// Takes tokens from logits. All arithmetic is fp64 in a fixed order (exact_math.h), so that the same seed and the same
/// logits give the same token on every machine.
class Sampler {
 public:
  /// Throws BadArgument.
  explicit Sampler(const model::SamplingOptions& options);

  /// The id of the next token; `past`: the tokens before it. A logit of NaN is never taken; nothing where no logit is
  /// above -inf.
  std::optional<std::int32_t> next(std::span<const float> logits, std::span<const std::int32_t> past);

  /// Numbers taken from the generator so far.
  std::uint64_t drawn() const { return drawn_; }
  /// Goes on as if so many had been taken.
  void skip(std::uint64_t numbers);

 private:
  struct Candidate {
    double logit;
    std::int32_t id;
  };
  void collect(std::span<const float> logits);
  void penalise(std::span<const std::int32_t> past);
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();
  std::int32_t draw();
  void sort_first(std::size_t count);

  model::SamplingOptions options_;
  Random random_;
  std::vector<double> logits_;         // [vocabulary] after the penalty; -inf for NaN
  std::vector<Candidate> candidates_;  // by id, or once something was sorted by logit
  double best_ = 0;                    // the largest logit
  std::uint64_t drawn_ = 0;
};

/// ln of the softmax of `logits` at `id`, over the logits as they are: no penalty, no temperature.
double log_probability(std::span<const float> logits, std::int32_t id);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_SAMPLING_H_
