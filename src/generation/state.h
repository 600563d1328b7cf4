#ifndef SIGHTLINE_GENERATION_STATE_H_
#define SIGHTLINE_GENERATION_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/context.h"
#include "sightline/generation.h"
#include "src/model/prompt_mass.h"

namespace sightline::model {

/// Sums of what each key received, of each layer [heads, 16, room], for the tokens of a context: see
/// Observations::mass_sums.
struct MassSums {
  static constexpr std::int64_t kChains = PromptMass::kChains;

  std::int64_t room = 0;
  std::vector<std::vector<float>> layers;  // none: they were not watched
};

struct GenerationState::Impl {
  Context context;                     // of tokens that went through: the first of `tokens`, one less at most
  std::vector<std::int32_t> tokens;    // at least one
  std::vector<std::int32_t> segments;  // of each token; empty: none were observed
  std::int32_t segment_count = 0;      // of the prompt
  std::vector<std::string> segment_names = {};
  MassSums mass = {};                 // over the rows of the context
  std::uint64_t seed = 0, drawn = 0;  // of the sampler: numbers taken
};

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_STATE_H_
