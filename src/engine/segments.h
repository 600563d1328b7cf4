#ifndef SIGHTLINE_ENGINE_SEGMENTS_H_
#define SIGHTLINE_ENGINE_SEGMENTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/engine/look_token.h"
#include "src/engine/prompt.h"
#include "src/engine/text_breaks.h"

namespace sightline::engine {

/// Segments of keys that are told apart in every row: these, and after them those that a prompt names. `first` is the
/// text's first token where a causal model's template puts no special token before it: rows rest on it as they do on
/// one ("attention sink", Xiao et al. 2023), so it is set aside where maps are ranked.
enum Segment : std::int32_t { kSegmentSpecial = 0, kSegmentText = 1, kSegmentFirst = 2 };
inline constexpr std::int32_t kFixedSegments = 3;
inline constexpr std::string_view kFixedSegmentNames[kFixedSegments] = {"special", "text", "first"};
/// What a generation writes: the segment after those of its prompt.
inline constexpr std::string_view kGeneratedName = "generated";

/// Whether tokens of the segment are text, named or not: neither special nor set aside.
constexpr bool is_text(std::int32_t segment) { return segment != kSegmentSpecial && segment != kSegmentFirst; }

struct Segments {
  std::vector<std::string> names;        // those of kFixedSegmentNames, then a prompt's own in the order of the text
  std::vector<std::int32_t> of_token{};  // index into names

  std::int32_t count() const { return static_cast<std::int32_t>(names.size()); }
  /// Those of a text that goes on: kGeneratedName comes last.
  std::vector<std::string> names_with_generated() const;
};

/// The bytes that a token stands for: of one without any, as a space is that was trimmed away, the byte before it.
TextSpan bytes_of(const LookToken& token);

/// A token belongs to the named range, or the stretch between two, that holds most of its bytes, of equals the first;
/// special tokens are kSegmentSpecial, and of a causal model's text the first token kSegmentFirst, whatever is named.
Segments segments_of(std::span<const LookToken> tokens, bool causal, std::span<const TextSegment> named = {});

/// How many segments a text with these names has.
std::int32_t segment_count(std::span<const TextSegment> named);

/// Throws BadArgument where `named` does not ascend within a text of `size` bytes, or takes a name that is given
/// already.
void require_segments(std::span<const TextSegment> named, std::size_t size);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_SEGMENTS_H_
