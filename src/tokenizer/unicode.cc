#include "src/tokenizer/unicode.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "sightline/error.h"
#include "src/tokenizer/ranges.h"

namespace sightline::tokenizer {
namespace {

template <std::size_t N>
bool contains(const std::array<char32_t, N>& chars, char32_t c) {
  return std::find(chars.begin(), chars.end(), c) != chars.end();
}

// Facts of the Unicode Character Database, versions 8, 9, 16 and 17 (Unicode License v3).

// Characters whose category has changed since Unicode 8 or 9.
constexpr std::array<char32_t, 1> kFormerNonspacing8 = {0x1734};
constexpr std::array<char32_t, 4> kLaterNonspacing8 = {0x1885, 0x1886, 0xA9BD, 0x111C9};
constexpr std::array<char32_t, 2> kFormerMark9 = {0x1CF2, 0x1CF3};
constexpr std::array<char32_t, 1> kLaterMark9 = {0x111C9};
constexpr std::array<char32_t, 2> kFormerPunctuation8 = {0x166D, 0x111C9};

// What Unicode 16 and 17 added to ICU 72's Unicode 15; a newer ICU agrees.
constexpr auto kNewNumbers = std::to_array<Range>({{0x10D40, 0x10D49},
                                                   {0x116D0, 0x116E3},
                                                   {0x11BF0, 0x11BF9},
                                                   {0x11DE0, 0x11DE9},
                                                   {0x16130, 0x16139},
                                                   {0x16D70, 0x16D79},
                                                   {0x16FF4, 0x16FF6},
                                                   {0x1CCF0, 0x1CCF9},
                                                   {0x1E5F1, 0x1E5FA}});
constexpr auto kNewWordChars = std::to_array<Range>(
    {{0x897, 0x897},     {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3},
     {0x10D40, 0x10D65}, {0x10D69, 0x10D6D}, {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x10EFC, 0x10EFC},
     {0x11380, 0x11389}, {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113C0},
     {0x113C2, 0x113C2}, {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D3}, {0x113E1, 0x113E2},
     {0x116D0, 0x116E3}, {0x11BC0, 0x11BE0}, {0x11BF0, 0x11BF9}, {0x11F5A, 0x11F5A}, {0x13460, 0x143FA},
     {0x16100, 0x16139}, {0x16D40, 0x16D6C}, {0x16D70, 0x16D79}, {0x18CFF, 0x18CFF}, {0x1CCF0, 0x1CCF9},
     {0x1E5D0, 0x1E5FA}, {0x2EBF0, 0x2EE5D}});

constexpr auto kNewLowerCase = std::to_array<CaseRange>({{0x1C89, 0x1C89, 0x1C8A},
                                                         {0xA7CB, 0xA7CB, 0x264},
                                                         {0xA7CC, 0xA7CC, 0xA7CD},
                                                         {0xA7CE, 0xA7CE, 0xA7CF},
                                                         {0xA7D2, 0xA7D2, 0xA7D3},
                                                         {0xA7D4, 0xA7D4, 0xA7D5},
                                                         {0xA7DA, 0xA7DA, 0xA7DB},
                                                         {0xA7DC, 0xA7DC, 0x19B},
                                                         {0x10D50, 0x10D65, 0x10D70},
                                                         {0x16EA0, 0x16EB8, 0x16EBB}});

constexpr auto kChinese = std::to_array<Range>({{0x3400, 0x4DBF},
                                                {0x4E00, 0x9FFF},
                                                {0xF900, 0xFAFF},
                                                {0x20000, 0x2A6DF},
                                                {0x2A700, 0x2B73F},
                                                {0x2B740, 0x2B81F},
                                                {0x2B920, 0x2CEAF},
                                                {0x2F800, 0x2FA1F}});

bool exists_since(char32_t c, int unicode_version) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] != 0 && age[0] <= unicode_version;
}

bool has_category(char32_t c, std::uint32_t mask) { return (U_MASK(u_charType(static_cast<UChar32>(c))) & mask) != 0; }

// ICU's tables of normal forms; data that every build of it carries.
const UNormalizer2* normal_form(const UNormalizer2* (*instance)(UErrorCode*)) {
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2* form = instance(&error);
  if (U_FAILURE(error)) throw Error(std::string("ICU cannot load its normalisation data: ") + u_errorName(error));
  return form;
}

const UNormalizer2* canonical_form() {
  static const UNormalizer2* const form = normal_form(unorm2_getNFCInstance);
  return form;
}

const UNormalizer2* compatibility_form() {
  static const UNormalizer2* const form = normal_form(unorm2_getNFKCInstance);
  return form;
}

constexpr int kMaxDecomposition = 64;  // UTF-16 units; the longest, of U+FDFA, has 18

// What the first byte of a character says: its length, its own bits, the least code that needs that length.
struct Lead {
  std::size_t length;
  char32_t bits;
  char32_t least;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, byte & 0x1Fu, 0x80};
  if (byte >= 0xE0 && byte <= 0xEF) return {3, byte & 0x0Fu, 0x800};
  if (byte >= 0xF0 && byte <= 0xF4) return {4, byte & 0x07u, 0x10000};
  return {0, 0, 0};
}

}  // namespace

DecodedChar decode_char(std::string_view text, std::size_t at) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
  if (lead.length == 0 || lead.length > text.size() - at) return {};
  char32_t code = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if (!is_continuation(byte)) return {};
    code = code << 6 | (byte & 0x3Fu);
  }
  if (code < lead.least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, lead.length};
}

bool is_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = decode_char(bytes, at).length;
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::vector<std::uint32_t> characters_before(std::string_view text) {
  std::vector<std::uint32_t> before(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); ++i) before[i + 1] = before[i] + !is_continuation(text[i]);
  return before;
}

void append_utf8(char32_t c, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    tail(12), tail(6), tail(0);
  }
}

std::u32string to_chars(std::string_view utf8) {
  std::u32string chars;
  for (std::size_t at = 0; at < utf8.size();) {
    const DecodedChar c = decode_char(utf8, at);
    chars += c.code;
    at += c.length;
  }
  return chars;
}

bool is_whitespace(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)); }

bool is_other(char32_t c) { return has_category(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK) && exists_since(c, 8); }

bool is_punctuation(char32_t c) {
  if (c < 0x80) return c > ' ' && c < 0x7F && !u_isalnum(static_cast<UChar32>(c));
  return (has_category(c, U_GC_P_MASK) && exists_since(c, 8)) || contains(kFormerPunctuation8, c);
}

bool is_nonspacing_mark(char32_t c) {
  if (c < 0x300) return false;
  return (has_category(c, U_GC_MN_MASK) && exists_since(c, 8) && !contains(kLaterNonspacing8, c)) ||
         contains(kFormerNonspacing8, c);
}

bool is_mark(char32_t c) {
  if (c < 0x300) return false;
  return (has_category(c, U_GC_M_MASK) && exists_since(c, 9) && !contains(kLaterMark9, c)) || contains(kFormerMark9, c);
}

bool is_numeric(char32_t c) { return has_category(c, U_GC_N_MASK) || in_ranges(kNewNumbers, c); }

bool is_word_char(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  const bool known = u_isUAlphabetic(code) || has_category(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
                     u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL);
  return (known && exists_since(c, 16)) || in_ranges(kNewWordChars, c);
}

bool is_chinese(char32_t c) { return c >= 0x3400 && in_ranges(kChinese, c); }

LowerCase to_lower(char32_t c) {
  if (c < 0x80) return {c >= 'A' && c <= 'Z' ? c + 32 : c};
  if (c == 0x130) return {'i', 0x307};
  for (const CaseRange& range : kNewLowerCase) {
    if (c >= range.first && c <= range.last) return {range.lower + (c - range.first)};
  }
  return {static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)))};
}

void decompose(char32_t c, Decomposition kind, std::u32string& out) {
  UChar units[kMaxDecomposition];
  std::int32_t count = -1;
  if (c >= 0xA0 && exists_since(c, 9)) {
    const UNormalizer2* form = kind == Decomposition::canonical ? canonical_form() : compatibility_form();
    UErrorCode error = U_ZERO_ERROR;
    count = unorm2_getDecomposition(form, static_cast<UChar32>(c), units, kMaxDecomposition, &error);
  }
  if (count < 0) {
    out += c;
    return;
  }
  for (std::int32_t i = 0; i < count;) {
    UChar32 code;
    U16_NEXT(units, i, count, code);
    out += static_cast<char32_t>(code);
  }
}

unsigned combining_class(char32_t c) {
  if (c < 0x300 || !exists_since(c, 9)) return 0;
  return u_getCombiningClass(static_cast<UChar32>(c));
}

char32_t compose(char32_t a, char32_t b) {
  if (b < 0x300) return 0;
  const UChar32 composite = unorm2_composePair(canonical_form(), static_cast<UChar32>(a), static_cast<UChar32>(b));
  return composite >= 0 && exists_since(static_cast<char32_t>(composite), 9) ? static_cast<char32_t>(composite) : 0;
}

}  // namespace sightline::tokenizer
