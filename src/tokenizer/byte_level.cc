#include "src/tokenizer/byte_level.h"

#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr char32_t kSpaceGlyph = 0x120;
constexpr std::size_t kGlyphs = 0x144;  // the largest glyph is one less

constexpr bool is_own_glyph(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> kGlyphOf = [] {
  std::array<char32_t, 256> glyphs{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) glyphs[byte] = is_own_glyph(byte) ? byte : next++;
  return glyphs;
}();

constexpr std::array<short, kGlyphs> kByteOf = [] {
  std::array<short, kGlyphs> bytes{};
  bytes.fill(-1);
  for (short byte = 0; byte < 256; ++byte) bytes[kGlyphOf[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}();

// Builds the text anew, part by part; `append` adds the characters of one that is not an added token.
template <typename Append>
void rebuild(PreTokenizedString& text, Append append) {
  std::vector<Char> chars;
  chars.reserve(text.chars.size() + text.splits.size());
  for (Split& split : text.splits) {
    const CharSpan part = CharSpan(text.chars).subspan(split.begin, split.end - split.begin);
    split.begin = chars.size();
    if (split.added_token) {
      chars.insert(chars.end(), part.begin(), part.end());
    } else {
      append(part, chars);
    }
    split.end = chars.size();
  }
  text.chars = std::move(chars);
}

bool is_space(char32_t c) { return c == kSpaceGlyph || is_whitespace(c); }

}  // namespace

std::string_view gpt2_pattern() {
  return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
}

void prepend_spaces(PreTokenizedString& text) {
  rebuild(text, [](CharSpan part, std::vector<Char>& out) {
    if (part.front().code != ' ') out.push_back({' ', part.front().begin, part.front().end});
    out.insert(out.end(), part.begin(), part.end());
  });
}

void spell_bytes(PreTokenizedString& text) {
  rebuild(text, [](CharSpan part, std::vector<Char>& out) {
    std::string bytes;
    for (const Char& c : part) {
      bytes.clear();
      append_utf8(c.code, bytes);
      for (const char byte : bytes) out.push_back({kGlyphOf[static_cast<unsigned char>(byte)], c.begin, c.end});
    }
  });
}

bool append_bytes(std::string_view piece, std::string& out) {
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < piece.size();) {
    const DecodedChar c = decode_char(piece, at);
    if (c.length == 0 || c.code >= kGlyphs || kByteOf[c.code] < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(kByteOf[c.code]);
    at += c.length;
  }
  return true;
}

void decode_bytes(std::vector<std::string>& pieces) {
  std::string bytes;
  for (const std::string& piece : pieces) {
    if (!append_bytes(piece, bytes)) bytes += piece;
  }
  std::string text;
  icu::UnicodeString::fromUTF8(bytes).toUTF8String(text);
  pieces.assign(1, std::move(text));
}

void trim_ranges(std::vector<Token>& tokens, bool prepends_space) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Token& token = tokens[i];
    const std::u32string chars = to_chars(token.piece);
    const auto text_begin = std::find_if_not(chars.begin(), chars.end(), is_space);
    const auto text_end = std::find_if_not(chars.rbegin(), chars.rend(), is_space);
    auto leading = static_cast<std::size_t>(text_begin - chars.begin());
    const auto trailing = static_cast<std::size_t>(text_end - chars.rbegin());
    const bool first = i == 0 || token.begin == 0;
    if (leading == 1 && first && prepends_space) leading = 0;
    token.begin = std::min(token.begin + leading, token.end);
    if (token.end >= trailing) token.end = std::max(token.end - trailing, token.begin);
  }
}

}  // namespace sightline::tokenizer
