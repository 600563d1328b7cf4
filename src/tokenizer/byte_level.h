#ifndef SIGHTLINE_TOKENIZER_BYTE_LEVEL_H_
#define SIGHTLINE_TOKENIZER_BYTE_LEVEL_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/tokenizer/pre_tokenizer.h"
#include "src/tokenizer/tokenizer.h"

/// GPT-2's spelling of bytes: each of the 256 has a printable character, its glyph. A byte that is itself printable in
/// Latin-1 is its own, the others are U+0100 and up in their order: a space is "Ġ".
namespace sightline::tokenizer {

/// GPT-2's pattern of words.
std::string_view gpt2_pattern();

/// A space before every part that does not begin with one.
void prepend_spaces(PreTokenizedString& text);
/// The characters of every part become the glyphs of their UTF-8 bytes, each standing for the whole character.
void spell_bytes(PreTokenizedString& text);

/// Appends the bytes that a piece's glyphs spell. False, and nothing appended, where not all its characters are glyphs.
bool append_bytes(std::string_view piece, std::string& out);

/// What the glyphs of all pieces spell; a piece that has other characters stands as it is. Bytes that are no text
/// become U+FFFD.
void decode_bytes(std::vector<std::string>& pieces);

/// Takes the white space of a token's spelling out of the range that it stands for; where a space is prepended, not the
/// only one before the text.
void trim_ranges(std::vector<Token>& tokens, bool prepends_space);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_BYTE_LEVEL_H_
