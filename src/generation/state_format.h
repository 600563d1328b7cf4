#ifndef SIGHTLINE_GENERATION_STATE_FORMAT_H_
#define SIGHTLINE_GENERATION_STATE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sightline/generation.h"

namespace sightline::model {

/// A state as a safetensors file (docs/generate.md): what is not numbers is one text of JSON under this key.
inline constexpr const char* kStateKey = "sightline_state";
inline constexpr std::int64_t kStateVersion = 1;

/// What decides which tensors a state has, and their shapes.
struct StateShape {
  std::int64_t tokens = 0, kept = 0;
  bool segments = false, mass = false;
  ContextOptions cache;
};

/// Which tensor of a layer; `none`: of no layer.
enum class LayerPart : std::uint8_t { none, keys, values, mass };

/// load_state() of bytes in memory, for fuzzing and tests; `name` is used in messages.
GenerationState parse_state(std::span<const std::byte> bytes, std::string_view name, const Model& model,
                            const StateRoom& room = {});

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_STATE_FORMAT_H_
