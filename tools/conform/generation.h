#ifndef SIGHTLINE_TOOLS_CONFORM_GENERATION_H_
#define SIGHTLINE_TOOLS_CONFORM_GENERATION_H_

#include <span>
#include <string>
#include <vector>

#include "sightline/transformer.h"
#include "src/format/safetensors.h"

namespace sightline::conform {

/// Greedy decoding of several texts at once, each through a context of its own.
struct Generation {
  std::vector<std::vector<std::int32_t>> tokens;        // [sequences][steps]
  std::vector<std::vector<std::vector<float>>> logits;  // [sequences][steps] of [vocabulary], before each token
  std::vector<std::vector<std::int32_t>> whole_texts;   // [sequences], prompt and tokens
};
Generation generate(const model::Transformer& transformer, std::span<const model::TokenSequence> prompts,
                    std::size_t steps);

/// Throws Mismatch unless the last step's logits of each text have the bits of a pass over all before it, alone and
/// without a context.
void expect_same_as_uncached(const model::Transformer& transformer, const Generation& generation);

/// Throws Mismatch unless each text alone has these tokens too, as `generate` makes them, and its last log-probability
/// the same bits.
void expect_same_as_decoding(const model::Transformer& transformer, const Generation& generation);

/// "gen0": NAME.prompt [1, tokens] and NAME.tokens [1, steps] of a reference file.
void check_generation(const model::Transformer& transformer, const format::SafetensorsFile& file,
                      const std::string& name);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_GENERATION_H_
