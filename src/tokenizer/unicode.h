#ifndef SIGHTLINE_TOKENIZER_UNICODE_H_
#define SIGHTLINE_TOKENIZER_UNICODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Characters as the Hugging Face `tokenizers` library sees them. Its tables come from several releases of Unicode, and
/// token ids depend on them: categories are those of Unicode 8, normal forms those of Unicode 9, letter case, word
/// characters and numbers those of Unicode 16 and 17. ICU has the present tables and the age of every character; a
/// character younger than the table is not in it.
namespace sightline::tokenizer {

/// A character read from UTF-8 text.
struct DecodedChar {
  char32_t code = 0;
  std::size_t length = 0;  // bytes; 0: no well-formed character starts here
};

/// The character that starts at byte `at` < text.size(). Overlong forms, surrogates and values above U+10FFFF are not
/// well-formed.
DecodedChar decode_char(std::string_view text, std::size_t at);

bool is_utf8(std::string_view bytes);  // well-formed throughout

/// Whether a byte of UTF-8 goes on with a character that one before it began.
constexpr bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// How many characters begin before each byte of UTF-8 text, and before its end: [bytes + 1].
std::vector<std::uint32_t> characters_before(std::string_view text);

void append_utf8(char32_t c, std::string& out);

/// The characters of UTF-8 text that is known to be well-formed.
std::u32string to_chars(std::string_view utf8);

bool is_whitespace(char32_t c);       // White_Space
bool is_other(char32_t c);            // Cc, Cf, Co
bool is_punctuation(char32_t c);      // P*, and ASCII's 32 symbols
bool is_nonspacing_mark(char32_t c);  // Mn
bool is_mark(char32_t c);             // M*
bool is_numeric(char32_t c);          // N*
bool is_word_char(char32_t c);        // \w of a Unicode-aware regular expression
bool is_chinese(char32_t c);          // the CJK ideograph blocks that BERT sets apart

/// Lower case of one character, whatever stands around it: one character, two for U+0130.
struct LowerCase {
  char32_t first;
  char32_t second = 0;  // 0: none
};
LowerCase to_lower(char32_t c);

enum class Decomposition { canonical, compatibility };

/// Appends the full decomposition of `c` to `out`; `c` itself where it has none.
void decompose(char32_t c, Decomposition kind, std::u32string& out);
unsigned combining_class(char32_t c);
/// The primary composite of two characters, or 0.
char32_t compose(char32_t a, char32_t b);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_UNICODE_H_
