#include "src/tokenizer/character_set.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include <array>
#include <set>
#include <span>
#include <utility>

#include "sightline/error.h"
#include "src/tokenizer/ranges.h"

namespace sightline::tokenizer {
namespace {

// What Unicode 16 added to ICU 72's Unicode 15, or moved to another category: facts of the Unicode Character Database
// (Unicode License v3). A newer ICU agrees.
constexpr auto kNonSpacingMark = std::to_array<Range>({{0x897, 0x897},
                                                       {0x10D69, 0x10D6D},
                                                       {0x10EFC, 0x10EFC},
                                                       {0x113BB, 0x113C0},
                                                       {0x113CE, 0x113CE},
                                                       {0x113D0, 0x113D0},
                                                       {0x113D2, 0x113D2},
                                                       {0x113E1, 0x113E2},
                                                       {0x11F5A, 0x11F5A},
                                                       {0x1611E, 0x16129},
                                                       {0x1612D, 0x1612F},
                                                       {0x1E5EE, 0x1E5EF}});
constexpr auto kOtherPunctuation = std::to_array<Range>({{0x1B4E, 0x1B4F},
                                                         {0x1B7F, 0x1B7F},
                                                         {0x113D4, 0x113D5},
                                                         {0x113D7, 0x113D8},
                                                         {0x11BE1, 0x11BE1},
                                                         {0x16D6D, 0x16D6F},
                                                         {0x1E5FF, 0x1E5FF}});
constexpr auto kUppercaseLetter =
    std::to_array<Range>({{0x1C89, 0x1C89}, {0xA7CB, 0xA7CC}, {0xA7DA, 0xA7DA}, {0xA7DC, 0xA7DC}, {0x10D50, 0x10D65}});
constexpr auto kLowercaseLetter =
    std::to_array<Range>({{0x1C8A, 0x1C8A}, {0xA7CD, 0xA7CD}, {0xA7DB, 0xA7DB}, {0x10D70, 0x10D85}});
constexpr auto kOtherSymbol = std::to_array<Range>({{0x2427, 0x2429},
                                                    {0x2FFC, 0x2FFF},
                                                    {0x31E4, 0x31E5},
                                                    {0x31EF, 0x31EF},
                                                    {0x1CC00, 0x1CCEF},
                                                    {0x1CD00, 0x1CEB3},
                                                    {0x1F8B2, 0x1F8BB},
                                                    {0x1F8C0, 0x1F8C1},
                                                    {0x1FA89, 0x1FA89},
                                                    {0x1FA8F, 0x1FA8F},
                                                    {0x1FABE, 0x1FABE},
                                                    {0x1FAC6, 0x1FAC6},
                                                    {0x1FADC, 0x1FADC},
                                                    {0x1FADF, 0x1FADF},
                                                    {0x1FAE9, 0x1FAE9},
                                                    {0x1FBCB, 0x1FBEF}});
constexpr auto kOtherLetter = std::to_array<Range>({{0x105C0, 0x105F3},
                                                    {0x10D4A, 0x10D4D},
                                                    {0x10D4F, 0x10D4F},
                                                    {0x10EC2, 0x10EC4},
                                                    {0x11380, 0x11389},
                                                    {0x1138B, 0x1138B},
                                                    {0x1138E, 0x1138E},
                                                    {0x11390, 0x113B5},
                                                    {0x113B7, 0x113B7},
                                                    {0x113D1, 0x113D1},
                                                    {0x113D3, 0x113D3},
                                                    {0x11BC0, 0x11BE0},
                                                    {0x13460, 0x143FA},
                                                    {0x16100, 0x1611D},
                                                    {0x16D43, 0x16D6A},
                                                    {0x18CFF, 0x18CFF},
                                                    {0x1E5D0, 0x1E5ED},
                                                    {0x1E5F0, 0x1E5F0},
                                                    {0x2EBF0, 0x2EE5D}});
constexpr auto kDecimalDigitNumber = std::to_array<Range>({{0x10D40, 0x10D49},
                                                           {0x116D0, 0x116E3},
                                                           {0x11BF0, 0x11BF9},
                                                           {0x16130, 0x16139},
                                                           {0x16D70, 0x16D79},
                                                           {0x1CCF0, 0x1CCF9},
                                                           {0x1E5F1, 0x1E5FA}});
constexpr auto kModifierLetter =
    std::to_array<Range>({{0x10D4E, 0x10D4E}, {0x10D6F, 0x10D6F}, {0x16D40, 0x16D42}, {0x16D6B, 0x16D6C}});
constexpr auto kDashPunctuation = std::to_array<Range>({{0x10D6E, 0x10D6E}});
constexpr auto kMathSymbol = std::to_array<Range>({{0x10D8E, 0x10D8F}});
constexpr auto kCombiningSpacingMark = std::to_array<Range>({{0x113B8, 0x113BA},
                                                             {0x113C2, 0x113C2},
                                                             {0x113C5, 0x113C5},
                                                             {0x113C7, 0x113CA},
                                                             {0x113CC, 0x113CD},
                                                             {0x113CF, 0x113CF},
                                                             {0x1171E, 0x1171E},
                                                             {0x1612A, 0x1612C}});

struct CategoryRanges {
  std::uint32_t category;  // as a mask
  std::span<const Range> ranges;
};
constexpr auto kSince15 = std::to_array<CategoryRanges>({{U_MASK(U_NON_SPACING_MARK), kNonSpacingMark},
                                                         {U_MASK(U_OTHER_PUNCTUATION), kOtherPunctuation},
                                                         {U_MASK(U_UPPERCASE_LETTER), kUppercaseLetter},
                                                         {U_MASK(U_LOWERCASE_LETTER), kLowercaseLetter},
                                                         {U_MASK(U_OTHER_SYMBOL), kOtherSymbol},
                                                         {U_MASK(U_OTHER_LETTER), kOtherLetter},
                                                         {U_MASK(U_DECIMAL_DIGIT_NUMBER), kDecimalDigitNumber},
                                                         {U_MASK(U_MODIFIER_LETTER), kModifierLetter},
                                                         {U_MASK(U_DASH_PUNCTUATION), kDashPunctuation},
                                                         {U_MASK(U_MATH_SYMBOL), kMathSymbol},
                                                         {U_MASK(U_COMBINING_SPACING_MARK), kCombiningSpacingMark}});

struct ScriptRange {
  UScriptCode script;
  char32_t first, last;
};
constexpr auto kScriptsSince15 = std::to_array<ScriptRange>({{USCRIPT_ARABIC, 0x897, 0x897},
                                                             {USCRIPT_ARABIC, 0x10EC2, 0x10EC4},
                                                             {USCRIPT_ARABIC, 0x10EFC, 0x10EFC},
                                                             {USCRIPT_BALINESE, 0x1B4E, 0x1B4F},
                                                             {USCRIPT_BALINESE, 0x1B7F, 0x1B7F},
                                                             {USCRIPT_CYRILLIC, 0x1C89, 0x1C8A},
                                                             {USCRIPT_EGYPTIAN_HIEROGLYPHS, 0x13460, 0x143FA},
                                                             {USCRIPT_HAN, 0x2EBF0, 0x2EE5D},
                                                             {USCRIPT_KAWI, 0x11F5A, 0x11F5A},
                                                             {USCRIPT_KHITAN_SMALL_SCRIPT, 0x18CFF, 0x18CFF},
                                                             {USCRIPT_LATIN, 0xA7CB, 0xA7CD},
                                                             {USCRIPT_LATIN, 0xA7DA, 0xA7DC},
                                                             {USCRIPT_MYANMAR, 0x116D0, 0x116E3}});

// Of the marks, those that are alphabetic only since then.
constexpr auto kAlphabeticSince15 = std::to_array<Range>({{0x363, 0x36F},
                                                          {0x897, 0x897},
                                                          {0x1DD3, 0x1DE6},
                                                          {0x10D69, 0x10D69},
                                                          {0x10EFC, 0x10EFC},
                                                          {0x113B8, 0x113C0},
                                                          {0x113C2, 0x113C2},
                                                          {0x113C5, 0x113C5},
                                                          {0x113C7, 0x113CA},
                                                          {0x113CC, 0x113CD},
                                                          {0x1611E, 0x1612E}});

constexpr auto kCaseSince15 = std::to_array<CaseRange>({{0x1C89, 0x1C89, 0x1C8A},
                                                        {0xA7CB, 0xA7CB, 0x264},
                                                        {0xA7CC, 0xA7CC, 0xA7CD},
                                                        {0xA7DA, 0xA7DA, 0xA7DB},
                                                        {0xA7DC, 0xA7DC, 0x19B},
                                                        {0x10D50, 0x10D65, 0x10D70}});

UChar32 code(char32_t c) { return static_cast<UChar32>(c); }

void add_ranges(std::span<const Range> ranges, CharacterSet& set) {
  for (const Range& range : ranges) set.add(code(range.first), code(range.last));
}

CharacterSet with_property(UProperty property, std::int32_t value) {
  UErrorCode error = U_ZERO_ERROR;
  CharacterSet set;
  set.applyIntPropertyValue(property, value, error);
  if (U_FAILURE(error)) throw Error(std::string("ICU cannot list the characters of a property: ") + u_errorName(error));
  return set;
}

// The characters that Unicode 16 has, as far as this ICU knows them.
const CharacterSet& assigned() {
  static const CharacterSet set = [] {
    UErrorCode error = U_ZERO_ERROR;
    CharacterSet ages;
    ages.applyPropertyAlias(icu::UnicodeString("age"), icu::UnicodeString("16.0"), error);
    if (U_FAILURE(error)) throw Error(std::string("ICU cannot list the characters of an age: ") + u_errorName(error));
    return ages;
  }();
  return set;
}

CharacterSet of_categories(std::uint32_t mask) {
  CharacterSet set = with_property(UCHAR_GENERAL_CATEGORY_MASK, static_cast<std::int32_t>(mask));
  set.retainAll(assigned());
  if ((mask & U_GC_CN_MASK) != 0) set.addAll(CharacterSet(assigned()).complement());
  for (const auto& [category, ranges] : kSince15) {
    for (const Range& range : ranges) set.remove(code(range.first), code(range.last));
    if ((mask & category) != 0) add_ranges(ranges, set);
  }
  return set;
}

// A property with the characters of Unicode 15, and of those since then the ones whose category is in `mask`.
CharacterSet with_property_or_category(UProperty property, std::uint32_t mask) {
  CharacterSet set = with_property(property, 1);
  set.retainAll(assigned());
  for (const auto& [category, ranges] : kSince15) {
    if ((mask & category) != 0) add_ranges(ranges, set);
  }
  return set;
}

CharacterSet alphabetic() {
  CharacterSet set = with_property_or_category(UCHAR_ALPHABETIC, U_GC_L_MASK);
  add_ranges(kAlphabeticSince15, set);
  return set;
}

CharacterSet of_script(std::int32_t script) {
  CharacterSet set = with_property(UCHAR_SCRIPT, script);
  set.retainAll(assigned());
  for (const ScriptRange& range : kScriptsSince15) {
    if (range.script == script) set.add(code(range.first), code(range.last));
  }
  return set;
}

CharacterSet hexadecimal_digits() { return set_of('0', '9').addAll(set_of('A', 'F')).addAll(set_of('a', 'f')); }

std::optional<CharacterSet> posix_set(std::string_view name) {
  using Make = CharacterSet (*)();
  static constexpr std::array<std::pair<std::string_view, Make>, 9> kSets = {
      {{"alpha", alphabetic},
       {"alnum", [] { return alphabetic().addAll(digits()); }},
       {"ascii", [] { return set_of(0, 0x7F); }},
       {"digit", digits},
       {"lower", [] { return with_property_or_category(UCHAR_LOWERCASE, U_GC_LL_MASK); }},
       {"punct", [] { return of_categories(U_GC_P_MASK | U_GC_S_MASK); }},
       {"space", white_space},
       {"upper", [] { return with_property_or_category(UCHAR_UPPERCASE, U_GC_LU_MASK); }},
       {"xdigit", hexadecimal_digits}}};
  for (const auto& [known, make] : kSets) {
    if (known == name) return make();
  }
  return std::nullopt;
}

// The full case folding of a character where that is several characters.
std::u32string long_folding(char32_t c) {
  const icu::UnicodeString folded = icu::UnicodeString(code(c)).foldCase();
  std::u32string chars;
  for (std::int32_t i = 0; i < folded.length(); i = folded.moveIndex32(i, 1)) {
    chars += static_cast<char32_t>(folded.char32At(i));
  }
  return chars.size() > 1 ? chars : std::u32string();
}

const std::set<std::u32string, std::less<>>& long_foldings() {
  static const std::set<std::u32string, std::less<>> foldings = [] {
    std::set<std::u32string, std::less<>> all;
    const CharacterSet changed = with_property(UCHAR_CHANGES_WHEN_CASEFOLDED, 1);
    for (std::int32_t i = 0; i < changed.size(); ++i) {
      if (std::u32string folding = long_folding(static_cast<char32_t>(changed.charAt(i))); !folding.empty()) {
        all.insert(std::move(folding));
      }
    }
    return all;
  }();
  return foldings;
}

}  // namespace

CharacterSet set_of(char32_t first, char32_t last) { return {code(first), code(last)}; }
CharacterSet white_space() { return with_property(UCHAR_WHITE_SPACE, 1); }
CharacterSet digits() { return of_categories(U_GC_ND_MASK); }
CharacterSet word_chars() { return alphabetic().addAll(of_categories(U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)); }

CharacterSet lone_word_chars() { return word_chars().addAll(set_of(0xB2, 0xB3)).add(0xB9).addAll(set_of(0xBC, 0xBE)); }

std::optional<CharacterSet> named_set(std::string_view name) {
  std::string lower;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') lower += static_cast<char>(c + 32);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) lower += c;
  }
  if (auto set = posix_set(lower)) return set;
  const std::int32_t mask = u_getPropertyValueEnum(UCHAR_GENERAL_CATEGORY_MASK, lower.c_str());
  if (mask != UCHAR_INVALID_CODE) return of_categories(static_cast<std::uint32_t>(mask));
  const std::int32_t script = u_getPropertyValueEnum(UCHAR_SCRIPT, lower.c_str());
  const bool known = script != UCHAR_INVALID_CODE && script != USCRIPT_COMMON && script != USCRIPT_UNKNOWN;
  if (known) return of_script(script);
  return std::nullopt;
}

CharacterSet without_case(CharacterSet set) {
  set.closeOver(USET_CASE_INSENSITIVE);
  set.removeAllStrings();
  for (const CaseRange& range : kCaseSince15) {
    for (char32_t upper = range.first; upper <= range.last; ++upper) {
      const UChar32 lower = code(range.lower + (upper - range.first));
      if (set.contains(code(upper))) set.add(lower);
      if (set.contains(lower)) set.add(code(upper));
    }
  }
  return set;
}

bool is_case_of_one_character(std::u32string_view chars) { return long_foldings().contains(chars); }
bool is_case_of_several_characters(char32_t c) { return !long_folding(c).empty(); }

}  // namespace sightline::tokenizer
