#ifndef SIGHTLINE_ATTENTION_REFERENCE_H_
#define SIGHTLINE_ATTENTION_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"

namespace sightline::reference {

/// What plain fp64 attention gives. Arrays are dense; see Observations for meanings. Where sequences are packed, the
/// keys of the others are hidden to a row.
struct Result {
  std::vector<double> out;      // [B, Hq, Nq, Dv]
  std::vector<double> weights;  // [B, Hq, Nq, Nk]
  std::vector<double> scores;   // [B, Hq, Nq, Nk] after bias and mask; hidden = -inf
  std::vector<double> row_max, row_sum, lse, entropy, position, distance;  // [B, Hq, Nq]
  std::vector<double> sink_weight, entropy_with_sink;                      // [B, Hq, Nq]
};

/// The four steps - score, scale, softmax, mix - in plain fp64 loops, n^2 memory. What every kernel is tested against.
Result attention(const AttentionProblem& problem);

/// The map at a stage before the softmax, [B, Hq, Nq, Nk]; keys that are not in use are -inf at every stage.
std::vector<double> scores(const AttentionProblem& problem, Stage stage);

/// What is ranked and summed, w or w ||v||, [B, Hq, Nq, Nk]; 0 where a key is hidden.
std::vector<double> measured(const AttentionProblem& problem, const Result& result, Measure measure);

/// The observations that follow from the weights, as Observations has them. Arrays that are not asked for are empty.
struct Seen {
  std::vector<std::int64_t> topk_index;
  std::vector<double> topk_weight, offset_mass, key_mass, segment_mass, overview, row_weights;
};

/// Arrays that are not null in `see` are asked for; a running mass begins at 0. Nothing is written through `see`.
Seen observe(const AttentionProblem& problem, const Result& result, const Observations& see);

}  // namespace sightline::reference

#endif  // SIGHTLINE_ATTENTION_REFERENCE_H_
