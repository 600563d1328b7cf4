#ifndef SIGHTLINE_ENGINE_LOOK_MEMORY_H_
#define SIGHTLINE_ENGINE_LOOK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/engine/model_facts.h"

namespace sightline::engine {

/// Bytes that a look of `tokens` tokens will keep, known before the pass: queries, keys, values, observations and the
/// pyramid of the layers in `keep_layers` (from 1; empty: all). What the text itself takes is left out; it depends on
/// the text. `top`: as LookOptions::top. Throws BadArgument for a layer that the model does not have.
std::size_t look_bytes(const ModelFacts& model, std::int64_t tokens, std::span<const int> keep_layers = {},
                       int top = 4);

/// Bytes that the pass of such a look takes while it runs, on top of look_bytes(): hidden states, the layer at hand,
/// and that layer's observations where it will not be kept.
std::size_t pass_bytes(const ModelFacts& model, std::int64_t tokens, int top = 4);

/// Rows and keys of a cell of the pyramid that a look of so many tokens makes; 0: none is needed.
std::int64_t pyramid_step(std::int64_t tokens);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_LOOK_MEMORY_H_
