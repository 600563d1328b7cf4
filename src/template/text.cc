#include "src/template/text.h"

#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include <algorithm>

#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

using tokenizer::decode_char;

std::size_t first_run(const std::vector<Run>& runs, std::size_t at) {
  const auto found =
      std::upper_bound(runs.begin(), runs.end(), at, [](std::size_t a, const Run& r) { return a < r.end; });
  return found - runs.begin();
}

std::string from_utf16(const UChar* units, std::int32_t count) {
  std::string out;
  for (std::int32_t at = 0; at < count;) {
    UChar32 c = 0;
    U16_NEXT(units, at, count, c);
    tokenizer::append_utf8(static_cast<char32_t>(c), out);
  }
  return out;
}

// The full mapping of one character, in no particular language.
std::string mapped(char32_t c, Case how) {
  UChar in[2], out[8];
  std::int32_t length = 0;
  U16_APPEND_UNSAFE(in, length, static_cast<UChar32>(c));
  UErrorCode status = U_ZERO_ERROR;
  std::int32_t count = 0;
  if (how == Case::lower) count = u_strToLower(out, 8, in, length, "", &status);
  if (how == Case::upper) count = u_strToUpper(out, 8, in, length, "", &status);
  if (how == Case::title) count = u_strToTitle(out, 8, in, length, nullptr, "", &status);
  return from_utf16(out, U_SUCCESS(status) ? count : 0);
}

bool is_cased(char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_CASED); }

// Whether the next cased character on one side, across those that case ignores, is there.
bool is_beside_cased(std::string_view text, std::size_t at, bool before) {
  while (before ? at > 0 : at < text.size()) {
    if (before) at = previous_character(text, at);
    const auto c = decode_char(text, at);
    if (!u_hasBinaryProperty(static_cast<UChar32>(c.code), UCHAR_CASE_IGNORABLE)) return is_cased(c.code);
    if (!before) at += c.length;
  }
  return false;
}

constexpr char32_t kSigma = 0x3A3;

std::string lower_at(std::string_view text, std::size_t at, char32_t c, std::size_t length) {
  if (c != kSigma) return mapped(c, Case::lower);
  const bool is_final = is_beside_cased(text, at, true) && !is_beside_cased(text, at + length, false);
  return is_final ? "\u03C2" : "\u03C3";
}

Case case_at(Case how, bool first, bool after_cased, char32_t c) {
  if (how == Case::capital) return first ? Case::title : Case::lower;
  if (how == Case::title) return after_cased ? Case::lower : Case::title;
  if (how == Case::swapped) return u_isUUppercase(static_cast<UChar32>(c)) ? Case::lower : Case::upper;
  return how;
}

}  // namespace

Text::Text(std::string bytes, std::int32_t source) : bytes_(std::move(bytes)) {
  if (!bytes_.empty()) runs_.push_back({0, bytes_.size(), source});
}

Text Text::slice(std::size_t begin, std::size_t end) const {
  TextBuilder builder;
  builder.append(*this, begin, end);
  return builder.take();
}

void TextBuilder::add_run(Run run) {
  if (run.begin == run.end) return;
  std::vector<Run>& runs = text_.runs_;
  if (!runs.empty() && runs.back().end == run.begin && runs.back().source == run.source) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

void TextBuilder::append(const Text& text, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  const std::size_t at = text_.size();
  text_.bytes_.append(text.bytes_, begin, end - begin);
  for (std::size_t i = first_run(text.runs_, begin); i < text.runs_.size() && text.runs_[i].begin < end; ++i) {
    const Run& run = text.runs_[i];
    add_run({std::max(run.begin, begin) - begin + at, std::min(run.end, end) - begin + at, run.source});
  }
}

void TextBuilder::append_instead(std::string_view bytes, const Text& text, std::size_t begin) {
  const std::size_t at = text_.size();
  text_.bytes_ += bytes;
  const std::size_t i = first_run(text.runs_, begin);
  if (i < text.runs_.size() && text.runs_[i].begin <= begin) add_run({at, text_.size(), text.runs_[i].source});
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::size_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !tokenizer::is_continuation(c); });
}

std::size_t byte_of_character(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (tokenizer::is_continuation(text[at])) continue;
    if (index == 0) break;
    --index;
  }
  return at;
}

std::size_t previous_character(std::string_view text, std::size_t end) {
  do --end;
  while (end > 0 && tokenizer::is_continuation(text[end]));
  return end;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const auto c = decode_char(text, at);
    if (c.length == 0 || !is_space(c.code)) break;
    at += c.length;
  }
  return at;
}

std::size_t trim_space_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t begin = previous_character(text, end);
    if (!is_space(decode_char(text, begin).code)) break;
    end = begin;
  }
  return end;
}

Text with_case(const Text& text, Case how) {
  TextBuilder out;
  bool after_cased = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_char(text.bytes(), at);
    const Case here = case_at(how, at == 0, after_cased, c.code);
    out.append_instead(here == Case::lower ? lower_at(text.bytes(), at, c.code, c.length) : mapped(c.code, here), text,
                       at);
    after_cased = is_cased(c.code);
    at += c.length;
  }
  return out.take();
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  const std::uint32_t not_printable = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK | U_GC_CN_MASK |
                                      U_GC_ZL_MASK | U_GC_ZP_MASK | U_GC_ZS_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & not_printable) == 0;
}

}  // namespace sightline::jinja
