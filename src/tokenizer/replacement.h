#ifndef SIGHTLINE_TOKENIZER_REPLACEMENT_H_
#define SIGHTLINE_TOKENIZER_REPLACEMENT_H_

#include <optional>
#include <string>

#include "src/tokenizer/regex.h"
#include "src/tokenizer/stage.h"

namespace sightline::tokenizer {

/// What "Replace" replaces, as normalizer or decoder.
struct Replacement {
  std::string pattern;  // where it is no regex
  std::optional<Regex> regex;
  std::string content;
};

/// Throws BadFile, UnsupportedModel.
Replacement read_replacement(const JsonObject& json);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_REPLACEMENT_H_
