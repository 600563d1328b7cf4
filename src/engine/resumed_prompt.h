#ifndef SIGHTLINE_ENGINE_RESUMED_PROMPT_H_
#define SIGHTLINE_ENGINE_RESUMED_PROMPT_H_

#include <string>
#include <vector>

#include "sightline/generation.h"
#include "src/engine/look_token.h"
#include "src/engine/segments.h"

namespace sightline::engine {

/// A prompt as it was read: its text, what became of it, and which part is which. What a generation wrote before is the
/// segment after all that have names.
struct ReadPrompt {
  std::string text;
  std::vector<LookToken> tokens;
  Segments segments;

  model::PromptTokens ids() const;
  /// Puts `more` behind it. Segments of one name become one.
  void append(const ReadPrompt& more);
};

/// The text of a state's tokens, special ones left out, and where each lies in it.
std::string state_text(const model::GenerationState& state, const tokenizer::Tokenizer& tokenizer,
                       tokenizer::Encoding& encoding);
/// The segments that a state was saved with; those of its tokens alone where it names none as a prompt does.
Segments state_segments(const model::GenerationState& state, std::span<const LookToken> tokens, bool causal);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_RESUMED_PROMPT_H_
