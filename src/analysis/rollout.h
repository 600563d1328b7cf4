#ifndef SIGHTLINE_ANALYSIS_ROLLOUT_H_
#define SIGHTLINE_ANALYSIS_ROLLOUT_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/analysis/probe.h"

namespace sightline::analysis {

/// Rows [begin, end) of a layer's map (from 0), the mean over its heads: [end - begin, tokens], a row after the other.
using MeanMapRows = std::function<std::vector<float>(int layer, std::int64_t begin, std::int64_t end)>;

struct RolloutOptions {
  int layers = 0;
  std::int64_t tokens = 0;
  std::int64_t tile_rows = 192;              // of a map that are asked for at a time
  std::function<void(int layer)> done = {};  // told of each layer as it is done; may throw to stop
};

/// Attention rollout (Abnar and Zuidema 2020) of the mean of some rows: how much of them comes from each token, if each
/// layer halves what it passes on between its attention (the mean of its heads, A) and its residual path. It is the
/// mean of those rows of the product over layers of (A + I) / 2, as one row times a matrix a layer, from the top one
/// down, so that no n x n product is made. Weight on a sink, which is no token, is lost on the way.
std::vector<double> rollout(TokenRange rows, const MeanMapRows& maps, const RolloutOptions& options);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_ROLLOUT_H_
