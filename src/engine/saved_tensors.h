#ifndef SIGHTLINE_ENGINE_SAVED_TENSORS_H_
#define SIGHTLINE_ENGINE_SAVED_TENSORS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/engine/look.h"
#include "src/format/safetensors.h"

namespace sightline::engine {

/// What of a pass can be written beside its observations (docs/report.md, "As a file").
inline constexpr std::string_view kSavable[] = {"q", "k", "v", "attn", "hidden"};

/// Bytes of weights that are written at most.
inline constexpr std::int64_t kMaxSavedWeights = std::int64_t{4} << 30;

/// Tensors of a pass: queries, keys and values of the layers that `maps` are in, all their heads; the weights of those
/// maps, computed and written a few rows at a time; and the hidden states of all layers.
class SavedTensors {
 public:
  /// `names` of kSavable. Throws BadArgument for an unknown name, for hidden states that the look did not keep
  /// (LookOptions::hidden), and for weights that would take more than kMaxSavedWeights.
  SavedTensors(const Look& look, std::span<const std::string> names, std::vector<MapId> maps);

  void declare(format::SafetensorsWriter& file) const;
  /// In the order in which they were declared.
  void write(format::SafetensorsWriter& file) const;

 private:
  bool saves(std::string_view name) const;
  void require_small_enough() const;
  void declare_vectors(format::SafetensorsWriter& file) const;
  void write_vectors(format::SafetensorsWriter& file) const;
  void write_weights(format::SafetensorsWriter& file) const;

  const Look& look_;
  std::vector<std::string> names_;
  std::vector<MapId> maps_;  // at least one
  std::vector<int> layers_;  // theirs, ascending
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_SAVED_TENSORS_H_
