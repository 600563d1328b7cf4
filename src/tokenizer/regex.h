#ifndef SIGHTLINE_TOKENIZER_REGEX_H_
#define SIGHTLINE_TOKENIZER_REGEX_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "src/tokenizer/normalized_string.h"

namespace sightline::tokenizer {

/// A pattern of a tokenizer.json, matched by PCRE2 with the meaning that the reference library gives it.
///
/// PCRE2 never sees characters: those that the pattern does not tell apart are one class, and the text is given as the
/// bytes that number the classes. So \s, \p{L} and case are what the reference's Unicode tables say, whatever release
/// of Unicode PCRE2 has; every class is a bitmap; and no text needs its UTF-8 decoded.
class Regex {
 public:
  /// `pattern` is UTF-8; `where` says in messages where it stands (JsonObject::where). Throws BadFile for a malformed
  /// pattern, UnsupportedModel for what cannot be had.
  Regex(std::string_view pattern, std::string_view where);

  /// Calls `found` with every match in `text`, [begin, end) in characters, from the left; empty ones too, but not where
  /// the last match ended. What it calls must not use the same Regex. Throws BadFile for a pattern that runs away.
  void for_each_match(CharSpan text, const std::function<void(std::size_t begin, std::size_t end)>& found) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_REGEX_H_
