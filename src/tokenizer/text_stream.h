#ifndef SIGHTLINE_TOKENIZER_TEXT_STREAM_H_
#define SIGHTLINE_TOKENIZER_TEXT_STREAM_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sightline/tokenizer.h"

namespace sightline::tokenizer {

/// UTF-8 from bytes that come one after the other. A character is held back until all its bytes are there; what can
/// become none is one U+FFFD for each longest run of bytes that begins a character.
class Utf8Stream {
 public:
  /// The characters that these bytes complete.
  std::string add(std::string_view bytes);
  /// What was held back, as U+FFFD.
  std::string finish();

 private:
  std::string held_;
};

/// The text of tokens that come one after the other: joined, what decode() gives at once, special tokens left out, but
/// for byte pieces ("<0xF0>") that spell no text: decode() makes every byte of such a run U+FFFD, also those that do
/// spell characters, which nothing that streams can know.
class TextStream {
 public:
  /// `before`: the tokens that the text goes on from, so that a space between the two is there.
  explicit TextStream(Tokenizer tokenizer, std::span<const std::int32_t> before = {});

  /// The text that this token completes: none of an id that is not in the vocabulary (models have rows to spare).
  std::string add(std::int32_t id);
  /// What was held back, as U+FFFD.
  std::string finish() { return characters_.finish(); }

 private:
  std::string bytes_of_next(std::int32_t id, std::string_view piece) const;

  Tokenizer tokenizer_;
  Utf8Stream characters_;
  std::optional<std::int32_t> previous_;  // special ones left out
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_TEXT_STREAM_H_
