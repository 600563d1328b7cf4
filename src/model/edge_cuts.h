#ifndef SIGHTLINE_MODEL_EDGE_CUTS_H_
#define SIGHTLINE_MODEL_EDGE_CUTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/model/pass.h"

namespace sightline::model {

/// Throws BadArgument for a layer, head, sequence or position that there is not.
void check_knock_outs(const TransformerConfig& config, std::span<const TokenSequence> batch,
                      std::span<const KnockOut> knock_outs);

/// Whether a list of layers, of which an empty one means all, has this one.
bool names_layer(const std::vector<int>& layers, int layer);

/// The positions of `ranges` in [begin, end), counted from `begin`, ascending, each once. Empty where they are all;
/// nothing where there is none.
std::optional<std::vector<std::int64_t>> listed_positions(const std::vector<PositionRange>& ranges, std::int64_t begin,
                                                          std::int64_t end);

/// Knock-outs of whole sequences as the attention calls of a pass take them: rows counted from the first one that has
/// a query, keys up to the last one that there is. What meets nothing of the pass is left out.
class EdgeCuts {
 public:
  explicit EdgeCuts(const Pass& pass);

  /// The lists in them are this object's.
  std::vector<EdgeCut> of(int layer, int sequence) const;

 private:
  struct Cut {
    const KnockOut* of;
    std::vector<std::int64_t> rows, keys;  // empty: all
  };

  void add(const KnockOut& knock_out, const PassSequence& text, std::vector<Cut>& cuts) const;

  std::vector<std::vector<Cut>> cuts_;  // of each sequence
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_EDGE_CUTS_H_
