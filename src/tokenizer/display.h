#ifndef SIGHTLINE_TOKENIZER_DISPLAY_H_
#define SIGHTLINE_TOKENIZER_DISPLAY_H_

#include <string>
#include <string_view>

#include "src/tokenizer/stage.h"
#include "src/tokenizer/tokenizer.h"

namespace sightline::tokenizer {

/// What a token reads as.
struct TokenText {
  std::string text;        // bytes
  bool whole = true;       // false: the bytes are only a part of a character, or no text at all
  bool continues = false;  // the vocabulary says that it goes on with a word
};

/// How a vocabulary spells what this "decoder" reads.
Spelling read_spelling(const JsonObject& decoder);

/// The bytes that a piece stands for.
std::string bytes_of(std::string_view piece, const Spelling& spelling);

/// A token of an encoding of `source` (the text of its sequence), as a reader knows it: the text that it came from, not
/// its glyphs. The bytes of its piece where it came from none or where they are only a part of a character; the piece
/// itself of a token that the template added.
TokenText text_of(const Token& token, std::string_view source, const Spelling& spelling);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_DISPLAY_H_
