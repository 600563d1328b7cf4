#ifndef SIGHTLINE_ANALYSIS_REACH_H_
#define SIGHTLINE_ANALYSIS_REACH_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"
#include "src/analysis/map_tiles.h"

namespace sightline::analysis {

/// Weight by the distance |row - key| that it spans, summed over rows. What a sink takes is no key's, and in none.
struct Distances {
  std::vector<double> weight;  // [distance]

  double total() const;
  /// NaN without any weight, as in the next two.
  double mean() const;
  /// The least distance within which `share` of the weight lies.
  double within(double share) const;
  /// The share of the weight that lies within `distance`.
  double share(std::int64_t distance) const;

  void add(const Distances& other);
};

/// How far back, or ahead, a head looks.
struct Reach {
  std::int64_t rows = 0;
  Distances all, text;  // to all keys; to those that are text alone

  void add(const Reach& other);
};

/// Of the rows that are text. `state`: of all heads, as attention() gives it. `text` [Nk]: which tokens are text; query
/// i is token i + Nk - Nq. Reads the map in tiles of a few rows; sums in fp64. Throws Cancelled.
Reach head_reach(const AttentionProblem& problem, const RowState& state, std::int64_t head,
                 const std::vector<bool>& text, TileProgress& progress);

/// The same of every head.
std::vector<Reach> layer_reach(const AttentionProblem& problem, const std::vector<bool>& text, int threads,
                               Progress* progress);

/// The same of a head that looks evenly at all that it sees.
Reach even_reach(const AttentionProblem& problem, const std::vector<bool>& text, int threads, Progress* progress);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_REACH_H_
