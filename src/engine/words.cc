#include "src/engine/words.h"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace sightline::engine {
namespace {

enum class ClusterKind : std::uint8_t {
  space,       // white space
  invisible,   // control and format characters
  word,        // letters, digits, marks
  ideograph,   // and kana: words without spaces between them
  word_link,   // joins two word clusters
  digit_link,  // joins two digits
  symbol,      // anything else that is visible
};

// A grapheme cluster: what a reader takes for one character.
struct Cluster {
  TextSpan span;
  ClusterKind kind = ClusterKind::symbol;
  bool digit = false;
};

bool is_ideograph(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(c, &status);
  return u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC) || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA;
}

bool is_word_link(UChar32 c) {
  constexpr UChar32 kLinks[] = {'\'', 0x2019, '-', 0x2010, 0x2011};  // apostrophes; hyphens, the last not breaking
  return std::ranges::find(kLinks, c) != std::end(kLinks);
}

ClusterKind kind_of(UChar32 c) {
  constexpr std::uint32_t kWordMask = U_GC_L_MASK | U_GC_N_MASK | U_GC_M_MASK;
  const std::uint32_t category = U_GET_GC_MASK(c);
  if (u_isUWhiteSpace(c)) return ClusterKind::space;
  if (category & (U_GC_CC_MASK | U_GC_CF_MASK)) return ClusterKind::invisible;
  if (is_ideograph(c)) return ClusterKind::ideograph;
  if (category & kWordMask) return ClusterKind::word;
  if (is_word_link(c)) return ClusterKind::word_link;
  return c == '.' || c == ',' ? ClusterKind::digit_link : ClusterKind::symbol;
}

Cluster cluster_at(std::string_view text, std::size_t begin, std::size_t end) {
  UChar32 first = 0;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  std::size_t next = begin;
  U8_NEXT(bytes, next, end, first);
  return {{begin, end}, kind_of(first), u_charType(first) == U_DECIMAL_DIGIT_NUMBER};
}

std::vector<Cluster> clusters_of(std::string_view text) {
  std::vector<Cluster> clusters;
  for (const TextSpan& span : cut_text(text, TextUnit::character)) {
    clusters.push_back(cluster_at(text, span.begin, span.end));
  }
  return clusters;
}

// Whether cluster i holds the word clusters before and after it together.
bool links(const std::vector<Cluster>& clusters, std::size_t i) {
  if (i == 0 || i + 1 >= clusters.size()) return false;
  const Cluster &before = clusters[i - 1], &after = clusters[i + 1];
  if (before.kind != ClusterKind::word || after.kind != ClusterKind::word) return false;
  const ClusterKind kind = clusters[i].kind;
  return kind == ClusterKind::word_link || kind == ClusterKind::invisible ||
         (kind == ClusterKind::digit_link && before.digit && after.digit);
}

std::vector<TextSpan> words_of_clusters(const std::vector<Cluster>& clusters) {
  std::vector<TextSpan> words;
  bool open = false;  // the last word can go on
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const auto [span, kind, digit] = clusters[i];
    const bool joined = kind == ClusterKind::word || links(clusters, i);
    if (joined && open) {
      words.back().end = span.end;
    } else if (kind != ClusterKind::space && kind != ClusterKind::invisible) {
      words.push_back(span);
    }
    open = joined;
  }
  return words;
}

// Indexes [first, last) of the words that a token touches.
struct Touched {
  std::size_t first = 0, last = 0;
};

Touched touched_by(const std::vector<TextSpan>& words, const LookToken& token) {
  if (token.special) return {};
  const std::size_t end = std::max(token.byte_end, token.byte_begin + 1);  // a token of no width stands in some word
  const auto first = std::ranges::partition_point(words, [&](const TextSpan& w) { return w.end <= token.byte_begin; });
  const auto last = std::partition_point(first, words.end(), [&](const TextSpan& w) { return w.begin < end; });
  return {static_cast<std::size_t>(first - words.begin()), static_cast<std::size_t>(last - words.begin())};
}

bool share_a_word(const Touched& a, const Touched& b) { return std::max(a.first, b.first) < std::min(a.last, b.last); }

AxisItem lone_token(const LookToken& token, std::int64_t index) {
  return {token.label, index, index + 1, token.byte_begin, token.byte_end, token.special};
}

void cover(AxisItem& item, std::string_view text, const TextSpan& span) {
  item.byte_begin = span.begin;
  item.byte_end = span.end;
  item.label = text.substr(span.begin, span.end - span.begin);
}

// Where the last token ends in the text.
std::size_t end_of(std::span<const LookToken> tokens) {
  std::size_t end = 0;
  for (const LookToken& token : tokens) end = std::max(end, token.byte_end);
  return end;
}

}  // namespace

std::vector<TextSpan> split_words(std::string_view text) { return words_of_clusters(clusters_of(text)); }

bool is_white_space(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  for (std::int64_t at = 0; at < size;) {
    UChar32 character = 0;
    U8_NEXT(bytes, at, size, character);
    if (character < 0 || !u_isUWhiteSpace(character)) return false;
  }
  return size > 0;
}

std::size_t count_white_space(const Axis& axis) {
  return static_cast<std::size_t>(
      std::ranges::count_if(axis, [](const AxisItem& item) { return !item.special && is_white_space(item.label); }));
}

Axis words_of_tokens(std::string_view text, std::span<const LookToken> tokens, bool cut) {
  const std::vector<TextSpan> words = split_words(cut ? text.substr(0, end_of(tokens)) : text);
  Axis items;
  Touched current;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Touched touched = touched_by(words, tokens[i]);
    if (items.empty() || !share_a_word(current, touched)) {
      items.push_back(lone_token(tokens[i], static_cast<std::int64_t>(i)));
      current = touched;
    }
    items.back().token_end = static_cast<std::int64_t>(i) + 1;
    if (touched.first == touched.last) continue;
    current = {std::min(current.first, touched.first), std::max(current.last, touched.last)};
    cover(items.back(), text, {words[current.first].begin, words[current.last - 1].end});
  }
  return items;
}

Axis items_of_tokens(std::span<const LookToken> tokens) {
  Axis items;
  for (std::size_t i = 0; i < tokens.size(); ++i) items.push_back(lone_token(tokens[i], static_cast<std::int64_t>(i)));
  return items;
}

std::string occurrence_suffix(const Axis& axis, std::size_t index) {
  const auto here = axis.begin() + static_cast<std::ptrdiff_t>(index);
  const auto before = std::ranges::count(axis.begin(), here, here->label, &AxisItem::label);
  const bool again = std::ranges::find(here + 1, axis.end(), here->label, &AxisItem::label) != axis.end();
  return before == 0 && !again ? std::string() : ":" + std::to_string(before + 1);
}

std::vector<DroppedText> dropped_text(std::string_view text, std::span<const LookToken> tokens, bool cut) {
  std::vector<bool> covered(text.size());
  for (const LookToken& token : tokens) {
    for (std::size_t i = token.byte_begin; i < token.byte_end; ++i) covered[i] = true;
  }
  std::vector<DroppedText> dropped;
  for (const Cluster& cluster : clusters_of(cut ? text.substr(0, end_of(tokens)) : text)) {
    const auto [begin, end] = cluster.span;
    const bool kept = std::find(covered.begin() + begin, covered.begin() + end, true) != covered.begin() + end;
    if (kept || cluster.kind == ClusterKind::space) continue;
    if (!dropped.empty() && dropped.back().byte_end == begin) {
      dropped.back().byte_end = end;
    } else {
      dropped.push_back({begin, end});
    }
  }
  return dropped;
}

std::vector<std::string> reading_notes(std::string_view text, std::int64_t cut_tokens,
                                       std::span<const DroppedText> dropped) {
  std::vector<std::string> notes;
  if (cut_tokens > 0) notes.push_back(fmt::format("The text was cut: its last {} tokens were left out", cut_tokens));
  if (dropped.empty()) return notes;
  std::string parts;
  for (const DroppedText& gap : dropped) {
    if (!parts.empty()) parts += ", ";
    parts += text.substr(gap.byte_begin, gap.byte_end - gap.byte_begin);
  }
  notes.push_back("The tokenizer drops this part of the text: " + shortened(parts));
  return notes;
}

}  // namespace sightline::engine
