#ifndef SIGHTLINE_OPS_LIKELIHOOD_H_
#define SIGHTLINE_OPS_LIKELIHOOD_H_

#include <cstdint>
#include <span>
#include <vector>

namespace sightline::ops {

/// What a softmax over logits goes by, in fp64 in a fixed order: ln softmax(x) = x - best - ln sum exp(x' - best).
class LogSoftmax {
 public:
  explicit LogSoftmax(std::span<const float> logits);
  double operator()(float logit) const { return logit - best_ - ln_total_; }

 private:
  double best_ = 0, ln_total_ = 0;
};

struct LikelyToken {
  std::int32_t id = 0;
  double log_probability = 0;
};

/// How likely a token was among all of the vocabulary.
struct Likelihood {
  double log_probability = 0;
  std::int64_t rank = 0;               // 1 + how many have larger logits, or as large a one and a lower id
  std::vector<LikelyToken> likeliest;  // from the likeliest down, of equals the lower id first
};

/// `top`: how many of the likeliest are given, as far as there are so many. A logit of NaN makes every log-probability
/// NaN.
Likelihood likelihood(std::span<const float> logits, std::int32_t id, int top);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_LIKELIHOOD_H_
