#ifndef SIGHTLINE_ANALYSIS_AVERAGE_HEADS_H_
#define SIGHTLINE_ANALYSIS_AVERAGE_HEADS_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"
#include "src/ops/linear.h"

namespace sightline::analysis {

/// What a layer loses when each of its heads takes the mean of their maps for its own. Means over rows, and where it
/// says so over heads. A sink counts as one more key.
struct AverageLoss {
  std::int64_t rows = 0;
  double divergence = 0;   // Jensen-Shannon, of all heads: entropy of the mean - mean of the entropies, nats; at most
                           // the logarithm of the number of heads
  double same_top = 0;     // share of heads and rows whose top key is that of the mean
  double top_on_text = 0;  // share of heads and rows whose own top key is text
  double error = 0;        // ||output of the layer with the mean - output|| / ||output||, over all rows
  double even_error = 0;   // the same where each row looks evenly at all that it sees, which needs no map at all
};

struct AverageOptions {
  const ops::Linear* output = nullptr;  // from the heads' vectors to the layer's output; its bias is left out. Null:
                                        // errors are those of the heads' vectors, one after the other
  int threads = 0;
  Progress* progress = nullptr;
};

/// Of the rows that are text. `text` [Nk]: which tokens are; query i is token i + Nk - Nq. Maps are read in tiles of a
/// few rows. NaN where there is no such row. Throws Cancelled.
AverageLoss average_loss(const AttentionProblem& problem, const std::vector<bool>& text,
                         const AverageOptions& options = {});

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_AVERAGE_HEADS_H_
