#ifndef SIGHTLINE_ENGINE_EXPLAIN_H_
#define SIGHTLINE_ENGINE_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "src/engine/look.h"

namespace sightline::engine {

/// One key of an explained row. All in fp64, from the fp32 q, k and v of the pass.
struct ExplainedKey {
  double dot = 0;                // q . k
  double scaled = 0;             // dot * scale
  double score = 0;              // the same, capped where the model has a softcap; -inf = hidden
  double weight = 0;             // softmax of the scores
  double value_norm = 0;         // |v|
  double contribution_norm = 0;  // |weight * v|
};

/// The head's sink in an explained row: a logit that takes part in the softmax and has no value to mix.
struct ExplainedSink {
  double logit = 0;
  double weight = 0;
};

/// How peaked a row is with one scale.
struct Peak {
  double scale = 0;
  double entropy = 0;  // nats
  double max_weight = 0;
};

/// One row of attention, step by step.
struct Explanation {
  MapId map;
  std::int64_t token = 0;             // whose row, index from 0
  bool scaled = true;                 // false: the scores were not divided by sqrt(D)
  double scale = 0;                   // what the dot products were multiplied by
  double softcap = 0;                 // c: scores became c tanh(scaled / c); 0: none
  std::vector<std::int64_t> visible;  // the keys that the row sees, ascending
  std::optional<ExplainedSink> sink;  // the weights of the keys and its own add up to 1
  std::vector<double> query;          // [D]
  std::vector<ExplainedKey> keys;     // [keys]
  std::vector<float> key_vectors;     // [keys, D] k
  std::vector<float> value_vectors;   // [keys, Dv] v
  std::vector<double> contributions;  // [keys, Dv] weight * v
  std::vector<double> output;         // [Dv] their sum: the head's output for this token
  Peak with_scale, without_scale;     // both ways, whichever was explained
  double weight_difference = 0;       // largest |fused kernel - this| over the weights
  double output_difference = 0;       // largest |fused kernel - this| over the output
};

/// The four steps - score, scale, softmax, mix - for the row of `token` (index from 0) in one map, in plain fp64, and
/// how far the fused fp32 kernel is from it. `scale` false leaves the division out, in both. Throws BadArgument.
Explanation explain(const Look& look, std::int64_t token, const MapId& map, bool scale);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_EXPLAIN_H_
