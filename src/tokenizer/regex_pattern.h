#ifndef SIGHTLINE_TOKENIZER_REGEX_PATTERN_H_
#define SIGHTLINE_TOKENIZER_REGEX_PATTERN_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/tokenizer/character_set.h"

namespace sightline::tokenizer {

/// A pattern with every literal, class and escape as a set of characters: `x+|\s` is {x}, "+|", {white space}.
struct RegexPattern {
  struct Part {
    std::string syntax;   // of PCRE2, which is also that of the reference
    std::size_t set = 0;  // index in `sets`, where there is no syntax
  };
  std::vector<Part> parts;
  std::vector<CharacterSet> sets;  // no two are equal
};

/// Reads a pattern in the syntax of the reference library (Oniguruma's for Ruby). `where` begins the messages. Throws
/// BadFile for a pattern that is malformed, UnsupportedModel for a construct that is not known, by its spelling.
RegexPattern parse_regex(std::string_view utf8, std::string_view where);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_REGEX_PATTERN_H_
