#ifndef SIGHTLINE_ENGINE_LOOK_MEMORY_H_
#define SIGHTLINE_ENGINE_LOOK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/engine/model_facts.h"
#include "src/engine/segments.h"

namespace sightline::engine {

/// Bytes that a look of `tokens` tokens will keep, known before the pass: queries, keys, values, observations and the
/// pyramid of the layers in `keep_layers` (from 1; empty: all), and the tokens and words. Exact but for the text itself
/// and words of several tokens, which the text decides. `top`: as LookOptions::top. Throws BadArgument for a layer that
/// the model does not have. `segments`: those that the prompt names counted.
std::size_t look_bytes(const ModelFacts& model, std::int64_t tokens, std::span<const int> keep_layers = {}, int top = 4,
                       std::int32_t segments = kFixedSegments);

/// Bytes that the pass of such a look takes while it runs, on top of look_bytes(): hidden states, the layer at hand,
/// and the kernel's workspace. A bound: small models may take half of it. `threads`: as SessionOptions::threads.
std::size_t pass_bytes(const ModelFacts& model, std::int64_t tokens, int threads = 0, int top = 4,
                       std::int32_t segments = kFixedSegments);

/// Bytes of the hidden states, where a look keeps them.
std::size_t hidden_bytes(const ModelFacts& model, std::int64_t tokens);

/// Layers that were asked for: ascending, each once.
std::vector<int> distinct_layers(std::vector<int> layers);

/// Throws BadArgument for a layer that the model does not have.
void require_layers(const ModelFacts& model, std::span<const int> layers);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_LOOK_MEMORY_H_
