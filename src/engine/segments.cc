#include "src/engine/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "sightline/error.h"
#include "src/engine/axis.h"

namespace sightline::engine {
namespace {

bool is_fixed(std::string_view name) { return std::ranges::count(kFixedSegmentNames, name) > 0; }

// Numbers of names, in the order in which they come.
class Names {
 public:
  Names() {
    for (const std::string_view name : kFixedSegmentNames) number_of(std::string(name));
  }
  std::int32_t number_of(const std::string& name) {
    const auto [found, added] = numbers_.try_emplace(name, static_cast<std::int32_t>(names_.size()));
    if (added) names_.push_back(name);
    return found->second;
  }
  std::vector<std::string> take() { return std::move(names_); }
  std::int32_t count() const { return static_cast<std::int32_t>(names_.size()); }

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::string> names_;
};

struct NumberedRange {
  std::size_t begin, end;
  std::int32_t segment;
};

// The range, or the stretch before or after one, that holds most of [begin, end).
std::int32_t segment_at(const std::vector<NumberedRange>& ranges, std::size_t begin, std::size_t end) {
  std::int32_t best = kSegmentText;
  std::size_t most = 0, at = begin;
  const auto take = [&](std::size_t to, std::int32_t segment) {
    const std::size_t stop = std::clamp(to, at, end);
    if (stop - at > most) {
      most = stop - at;
      best = segment;
    }
    at = stop;
  };
  auto range = std::ranges::partition_point(ranges, [&](const NumberedRange& r) { return r.end <= begin; });
  for (; range != ranges.end() && range->begin < end; ++range) {
    take(range->begin, kSegmentText);
    take(range->end, range->segment);
  }
  take(end, kSegmentText);
  return best;
}

}  // namespace

std::vector<std::string> Segments::names_with_generated() const {
  std::vector<std::string> all = names;
  all.emplace_back(kGeneratedName);
  return all;
}

TextSpan bytes_of(const LookToken& token) {
  if (token.byte_begin < token.byte_end) return {token.byte_begin, token.byte_end};
  const std::size_t begin = token.byte_begin == 0 ? 0 : token.byte_begin - 1;
  return {begin, begin + 1};
}

Segments segments_of(std::span<const LookToken> tokens, bool causal, std::span<const TextSegment> named) {
  Names names;
  std::vector<NumberedRange> ranges;
  for (const TextSegment& range : named) ranges.push_back({range.begin, range.end, names.number_of(range.name)});
  Segments segments{names.take()};
  segments.of_token.reserve(tokens.size());
  for (const LookToken& token : tokens) {
    const auto [begin, end] = bytes_of(token);
    segments.of_token.push_back(token.special ? kSegmentSpecial : segment_at(ranges, begin, end));
  }
  // A text of one token alone keeps it: something must be left to look at.
  const bool more = std::ranges::count_if(segments.of_token, is_text) > 1;
  if (causal && more && is_text(segments.of_token.front())) segments.of_token.front() = kSegmentFirst;
  return segments;
}

std::int32_t segment_count(std::span<const TextSegment> named) {
  Names names;
  for (const TextSegment& range : named) names.number_of(range.name);
  return names.count();
}

void require_segments(std::span<const TextSegment> named, std::size_t size) {
  std::size_t done = 0;
  for (const auto& [name, begin, end] : named) {
    if (begin < done || end < begin || end > size) {
      throw BadArgument(
          fmt::format("segment \"{}\", bytes {} to {} of {}, does not come after the one before it, or leaves the text",
                      shortened(name), begin, end, size));
    }
    if (name.empty()) throw BadArgument("a segment has no name");
    if (is_fixed(name) || name == kGeneratedName) {
      throw BadArgument(fmt::format("a segment cannot be named \"{}\": every text has one of that name", name));
    }
    done = end;
  }
}

}  // namespace sightline::engine
