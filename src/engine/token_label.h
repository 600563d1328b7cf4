#ifndef SIGHTLINE_ENGINE_TOKEN_LABEL_H_
#define SIGHTLINE_ENGINE_TOKEN_LABEL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "sightline/tokenizer.h"

namespace sightline::engine {

/// LookToken::label of a token of `text`.
std::string token_label(const tokenizer::Token& token, std::string_view text, const tokenizer::Spelling& spelling);

/// The same of an id that came from no text; "#7" of one that is not in the vocabulary (models have rows to spare).
std::string token_label(const tokenizer::Tokenizer& tokenizer, std::int32_t id);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_TOKEN_LABEL_H_
