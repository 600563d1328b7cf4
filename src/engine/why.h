#ifndef SIGHTLINE_ENGINE_WHY_H_
#define SIGHTLINE_ENGINE_WHY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sightline/execution.h"
#include "src/analysis/edge_sweep.h"
#include "src/engine/axis.h"
#include "src/engine/knock_out.h"
#include "src/engine/look.h"
#include "src/model/contributions.h"

namespace sightline::engine {

inline constexpr std::int64_t kDefaultEdges = 512;

struct WhyOptions {
  std::string token;                      // a word, or a piece of one as `didn't/2`
  std::vector<std::string> answers = {};  // what may come after the text, or stand at a masked token
  std::string block = "all";              // `all`, `layer`, `head`, or MAPS as parse_maps() reads them
  bool pieces = false;                    // edges to tokens rather than words
  bool truncate = false;                  // as LookOptions::truncate
  std::int64_t edges = kDefaultEdges;     // words at most, those with the largest weights
  bool heads = true;                      // knock out whole heads, too
  Progress* progress = nullptr;           // told of passes; false ends the knock-outs with what is done
};

/// A number that every pass comes to.
struct WhyMeasure {
  enum class Kind : std::uint8_t {
    log_probability,  // of an answer, nats
    margin,           // of the first answer less that of the second
    text_vector,      // 1 - cosine of the text's vector to that without knock-out
    row_vector,       // the same of the row's own vector
  };
  Kind kind = Kind::log_probability;
  std::string answer;  // as it was given; of the model's own likeliest token its label
  std::vector<std::int32_t> ids = {};
  bool likeliest = false;  // no answer was given, and the model finds this token likeliest
  double value = 0;        // without knock-out
};

/// An edge from the row to an item in some maps at once: its weights beside what changes without it. Weight from the
/// row is the mean over its tokens, weight to the item the sum over its own; of several maps the mean.
struct WhyEdge {
  int layer = 0, head = 0;  // from 1; 0: in all that WhyOptions::block leaves
  std::size_t item = 0;     // index into Why::items
  double weight = 0;
  double value_weight = 0;           // |w v|: each token's weight times the length of its value vector
  double rollout = 0;                // of all layers
  std::vector<double> effects = {};  // for each measure its number without the edge less that with it
};

/// Spearman's rank correlations with the size of the effect that ranks the edges.
struct WhyCorrelation {
  double weight = std::numeric_limits<double>::quiet_NaN();
  double value_weight = std::numeric_limits<double>::quiet_NaN();
  double rollout = std::numeric_limits<double>::quiet_NaN();
  double chance = std::numeric_limits<double>::quiet_NaN();  // as analysis::chance_rank_correlation()
};

/// The edges of one layer (head 0) or head.
struct WhyMap {
  int layer = 0, head = 0;
  std::int64_t edges = 0;
  WhyCorrelation correlation;
};

/// A head as a whole.
struct WhyHead {
  int layer = 0, head = 0;
  std::vector<double> effects =
      {};  // for each measure its number with the head's output at 0 less that without knock-out
};

/// Where a word looks, beside what depends on it.
struct Why {
  std::string text;
  std::vector<LookToken> tokens;
  Axis items;                            // words or tokens of the whole text
  AxisItem row;                          // whose edges these are
  std::string block;                     // as it was asked for
  std::vector<TextKnockOut::Maps> maps;  // in which an edge is taken out at once; of `layer` and `head` all
  std::int64_t place = -1;               // the token at which answers are read; -1: after the text
  std::vector<WhyMeasure> measures;
  std::size_t ranked_by = 0;   // index of the measure whose effects rank the edges
  std::vector<WhyEdge> edges;  // largest effect first
  WhyCorrelation correlation;  // over all of them
  std::vector<WhyMap> by_map;  // of `layer` and `head`
  std::vector<WhyHead> heads;
  // What each measure is made of in the whole pass: of an answer its logit less the mean of all logits, summed over its
  // tokens; of the margin the difference of logits where the two answers first differ; of a vector its length.
  std::vector<model::Contributions> direct;
  std::int64_t seen = 0, taken = 0;  // items that the row sees, and those whose edges are knocked out
  double taken_weight = 0;           // mean weight on these
  model::BranchWork work;
  std::vector<std::string> notes;  // what one should know of this case, a line each
  bool complete = true;            // false: the caller's progress ended it; edges and heads not done are not there
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_WHY_H_
