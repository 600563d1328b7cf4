#ifndef SIGHTLINE_ENGINE_LOOK_DATA_H_
#define SIGHTLINE_ENGINE_LOOK_DATA_H_

#include <string>
#include <vector>

#include "src/engine/capture.h"
#include "src/engine/look.h"

namespace sightline::engine {

/// What a Look keeps.
struct Look::Data {
  ModelFacts model;
  int threads = 0;
  std::string text;
  std::vector<LookToken> tokens;
  Segments segments;
  std::vector<TextSegment> answers;  // of the prompt
  Axis words;
  std::vector<DroppedText> dropped;
  std::size_t cut_tokens = 0;
  int top = 0;
  std::vector<LayerRecord> layers;
  std::vector<MapSummary> summaries;              // [layers, heads]
  std::vector<std::vector<float>> hidden_states;  // [layers + 1] of [tokens, width], if they were asked for

  /// The layer that `id` names, which must exist.
  const LayerRecord& layer_of(const MapId& id) const;
  std::size_t bytes() const;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_LOOK_DATA_H_
