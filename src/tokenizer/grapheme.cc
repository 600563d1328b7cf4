#include "src/tokenizer/grapheme.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>

#include "src/tokenizer/ranges.h"

namespace sightline::tokenizer {
namespace {

// Marks that Unicode 16 and 17 added to ICU 72's Unicode 15; a newer ICU agrees.
constexpr auto kNewMarks = std::to_array<Range>(
    {{0x897, 0x897},     {0x1ACF, 0x1ADD},   {0x1AE0, 0x1AEB},   {0x10D69, 0x10D6D}, {0x10EFA, 0x10EFC},
     {0x113B8, 0x113C0}, {0x113C2, 0x113C2}, {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D0},
     {0x113D2, 0x113D2}, {0x113E1, 0x113E2}, {0x11B60, 0x11B67}, {0x11F5A, 0x11F5A}, {0x1611E, 0x1612F},
     {0x1E5EE, 0x1E5EF}, {0x1E6E3, 0x1E6E3}, {0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF}, {0x1E6F5, 0x1E6F5}});

// Indic_Conjunct_Break of Unicode 17, which ICU has since version 76: Consonant below U+10000, and Linker. A cluster
// counts where it has less than 6 bytes; from U+10000 on no consonant of one is seen to join another.
constexpr auto kConsonants = std::to_array<Range>(
    {{0x915, 0x939},   {0x958, 0x95F},   {0x978, 0x97F},   {0x995, 0x9A8},   {0x9AA, 0x9B0},   {0x9B2, 0x9B2},
     {0x9B6, 0x9B9},   {0x9DC, 0x9DD},   {0x9DF, 0x9DF},   {0x9F0, 0x9F1},   {0xA95, 0xAA8},   {0xAAA, 0xAB0},
     {0xAB2, 0xAB3},   {0xAB5, 0xAB9},   {0xAF9, 0xAF9},   {0xB15, 0xB28},   {0xB2A, 0xB30},   {0xB32, 0xB33},
     {0xB35, 0xB39},   {0xB5C, 0xB5D},   {0xB5F, 0xB5F},   {0xB71, 0xB71},   {0xC15, 0xC28},   {0xC2A, 0xC39},
     {0xC58, 0xC5A},   {0xD15, 0xD3A},   {0x1000, 0x102A}, {0x103F, 0x103F}, {0x1050, 0x1055}, {0x105A, 0x105D},
     {0x1061, 0x1061}, {0x1065, 0x1066}, {0x106E, 0x1070}, {0x1075, 0x1081}, {0x108E, 0x108E}, {0x1780, 0x17B3},
     {0x1A20, 0x1A54}, {0x1B0B, 0x1B0C}, {0x1B13, 0x1B33}, {0x1B45, 0x1B4C}, {0x1B83, 0x1BA0}, {0x1BAE, 0x1BAF},
     {0x1BBB, 0x1BBD}, {0xA989, 0xA98B}, {0xA98F, 0xA9B2}, {0xA9E0, 0xA9E4}, {0xA9E7, 0xA9EF}, {0xA9FA, 0xA9FE},
     {0xAA60, 0xAA6F}, {0xAA71, 0xAA73}, {0xAA7A, 0xAA7A}, {0xAA7E, 0xAA7F}, {0xAAE0, 0xAAEA}, {0xABC0, 0xABDA}});
constexpr auto kLinkers =
    std::to_array<char32_t>({0x94D,  0x9CD,  0xACD,  0xB4D,   0xC4D,   0xD4D,   0x1039,  0x17D2,  0x1A60,  0x1B44,
                             0x1BAB, 0xA9C0, 0xAAF6, 0x10A3F, 0x11133, 0x113D0, 0x1193E, 0x11A47, 0x11A99, 0x11F42});

UGraphemeClusterBreak class_of(char32_t c) {
  if (c == '\r') return U_GCB_CR;
  if (c == '\n') return U_GCB_LF;
  if (c < 0x80) return c < ' ' || c == 0x7F ? U_GCB_CONTROL : U_GCB_OTHER;
  if (in_ranges(kNewMarks, c)) return U_GCB_EXTEND;
  return static_cast<UGraphemeClusterBreak>(
      u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_GRAPHEME_CLUSTER_BREAK));
}

bool is_pictograph(char32_t c) {
  return c >= 0xA9 && u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_EXTENDED_PICTOGRAPHIC);
}

bool is_end_of_line_or_control(UGraphemeClusterBreak c) { return c == U_GCB_CR || c == U_GCB_LF || c == U_GCB_CONTROL; }

// Rules GB6 to GB8.
bool joins_hangul(UGraphemeClusterBreak before, UGraphemeClusterBreak here) {
  switch (before) {
    case U_GCB_L:
      return here == U_GCB_L || here == U_GCB_V || here == U_GCB_LV || here == U_GCB_LVT;
    case U_GCB_LV:
    case U_GCB_V:
      return here == U_GCB_V || here == U_GCB_T;
    case U_GCB_LVT:
    case U_GCB_T:
      return here == U_GCB_T;
    default:
      return false;
  }
}

// What the characters of a cluster so far say about the next one.
class Cluster {
 public:
  explicit Cluster(char32_t first) { add(first, class_of(first)); }

  // Takes the character in, if it belongs to the cluster.
  bool take(char32_t c) {
    const UGraphemeClusterBreak here = class_of(c);
    if (!joins(c, here)) return false;
    add(c, here);
    return true;
  }

 private:
  bool joins(char32_t c, UGraphemeClusterBreak here) const {
    if (last_ == U_GCB_CR && here == U_GCB_LF) return true;
    if (is_end_of_line_or_control(last_) || is_end_of_line_or_control(here)) return false;
    if (here == U_GCB_EXTEND || here == U_GCB_ZWJ || here == U_GCB_SPACING_MARK || last_ == U_GCB_PREPEND) return true;
    if (joins_hangul(last_, here)) return true;
    if (here == U_GCB_REGIONAL_INDICATOR) return flags_ % 2 == 1;
    return (conjunct_ == Conjunct::linked && in_ranges(kConsonants, c)) ||
           (emoji_ == Emoji::joined && is_pictograph(c));
  }

  void add(char32_t c, UGraphemeClusterBreak here) {
    const bool extends = here == U_GCB_EXTEND || here == U_GCB_ZWJ;
    if (in_ranges(kConsonants, c)) {
      conjunct_ = Conjunct::consonant;
    } else if (!extends || c == 0x200C) {
      conjunct_ = Conjunct::none;
    } else if (conjunct_ == Conjunct::consonant && std::find(kLinkers.begin(), kLinkers.end(), c) != kLinkers.end()) {
      conjunct_ = Conjunct::linked;
    }
    if (!extends) {
      emoji_ = is_pictograph(c) ? Emoji::pictograph : Emoji::none;
    } else if (emoji_ != Emoji::none) {
      emoji_ = here == U_GCB_ZWJ ? Emoji::joined : Emoji::pictograph;
    }
    flags_ = here == U_GCB_REGIONAL_INDICATOR ? flags_ + 1 : 0;
    last_ = here;
  }

  enum class Conjunct { none, consonant, linked } conjunct_ = Conjunct::none;  // rule GB9c
  enum class Emoji { none, pictograph, joined } emoji_ = Emoji::none;          // rule GB11
  std::size_t flags_ = 0;  // regional indicators at the end: rules GB12 and GB13
  UGraphemeClusterBreak last_ = U_GCB_OTHER;
};

}  // namespace

std::size_t grapheme_end(CharSpan text, std::size_t at) {
  Cluster cluster(text[at].code);
  do ++at;
  while (at < text.size() && cluster.take(text[at].code));
  return at;
}

}  // namespace sightline::tokenizer
