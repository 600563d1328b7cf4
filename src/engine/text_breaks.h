#ifndef SIGHTLINE_ENGINE_TEXT_BREAKS_H_
#define SIGHTLINE_ENGINE_TEXT_BREAKS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sightline::engine {

/// A range of bytes of the text.
struct TextSpan {
  std::size_t begin = 0, end = 0;

  bool operator==(const TextSpan&) const = default;
};

enum class TextUnit : std::uint8_t { character, sentence };

/// A UTF-8 text cut at its units as Unicode has them (UAX 29), without a rest: a character is a grapheme cluster, and a
/// sentence ends with the white space after it.
std::vector<TextSpan> cut_text(std::string_view text, TextUnit unit);

/// Sentences, of which none is white space alone unless the text is.
std::vector<TextSpan> split_sentences(std::string_view text);

/// Which of `spans` (ascending, one after the other without a gap, at least one) holds most of [begin, end), of equals
/// the first. What has no width stands where it begins, at the end in the last.
std::size_t span_with_most(const std::vector<TextSpan>& spans, std::size_t begin, std::size_t end);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_TEXT_BREAKS_H_
