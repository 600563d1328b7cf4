#ifndef SIGHTLINE_ANALYSIS_GENERATED_PROBES_H_
#define SIGHTLINE_ANALYSIS_GENERATED_PROBES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/tokenizer.h"
#include "src/analysis/place_text.h"
#include "src/analysis/probe.h"

namespace sightline::analysis {

struct GenerationPlan {
  std::int64_t length = 256;  // tokens of a text, special ones counted
  std::uint64_t seed = 0;
};
inline constexpr std::int64_t kLeastLength = 32;

/// How many texts of such a length are generated: some 4,000 tokens in all, 4 texts at least and 16 at most.
std::int64_t text_count(std::int64_t length);

/// Texts whose tokens are drawn from the vocabulary, a block of them again and again, between the special tokens that
/// the tokenizer puts around a text. The blocks' lengths are drawn from a quarter to a half of the text, so that no
/// fixed offset fits two texts but by chance; those of a small vocabulary are as long as it has tokens to draw. Special
/// tokens, unused ones and white space are not drawn. Throws BadArgument where there are too few.
std::vector<RepeatedText> repeated_texts(const tokenizer::Tokenizer& tokenizer, const GenerationPlan& plan);

/// The paragraphs of a text (empty lines are between them), each cut at `max_tokens`.
std::vector<RepeatedText> paragraph_texts(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                          std::int64_t max_tokens);

/// Some hundred words of English, written for this.
std::string_view english_text();

/// Nested calls, lists, maps and groups; each closing bracket is asked for its opening one, among all that opened
/// before it, at most kOpenBrackets. Without questions where the tokenizer has no token for each bracket.
Probe bracket_probe(const tokenizer::Tokenizer& tokenizer, const GenerationPlan& plan);
inline constexpr std::size_t kOpenBrackets = 64;

/// One statement a line, at least so many.
std::string nested_code(std::int64_t statements, std::uint64_t seed);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_GENERATED_PROBES_H_
