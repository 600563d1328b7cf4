#include "src/model/edge_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sightline/error.h"

namespace sightline::model {
namespace {

void check_index(std::int64_t index, std::int64_t count, const char* what) {
  if (index >= 0 && index < count) return;
  throw BadArgument(fmt::format("a knock-out names {} {}, outside 0..{}", what, index, count - 1));
}

// An open range may begin where the sequence ends: it is empty until more comes.
void check_range(const PositionRange& range, std::int64_t room, const char* what) {
  const bool open = range.end == PositionRange::kOpen;
  if (range.begin >= 0 && (open ? range.begin <= room : range.begin < range.end && range.end <= room)) return;
  throw BadArgument(fmt::format("a knock-out names {} {}..{}, outside 0..{}", what, range.begin,
                                open ? range.begin : range.end - 1, room - 1));
}

void check_ranges(const KnockOut& knock_out, const TokenSequence& text) {
  const auto room = text.context != nullptr ? text.context->room() : static_cast<std::int64_t>(text.ids.size());
  for (const PositionRange& range : knock_out.rows) check_range(range, room, "rows");
  for (const PositionRange& range : knock_out.keys) check_range(range, room, "keys");
}

// The positions of `ranges` in [begin, end), counted from `begin`, ascending, each once. Empty where they are all;
// nothing where there is none.
std::optional<std::vector<std::int64_t>> listed(const std::vector<PositionRange>& ranges, std::int64_t begin,
                                                std::int64_t end) {
  std::vector<std::int64_t> positions;
  if (ranges.empty()) return positions;
  std::vector<bool> named(static_cast<std::size_t>(end - begin));
  for (const PositionRange& range : ranges) {
    const std::int64_t from = std::clamp(range.begin, begin, end), to = std::clamp(range.end, from, end);
    std::fill(named.begin() + (from - begin), named.begin() + (to - begin), true);
  }
  for (std::int64_t i = 0; i < end - begin; ++i) {
    if (named[static_cast<std::size_t>(i)]) positions.push_back(i);
  }
  if (positions.empty()) return std::nullopt;
  if (std::ssize(positions) == end - begin) positions.clear();
  return positions;
}

}  // namespace

void check_knock_outs(const TransformerConfig& config, std::span<const TokenSequence> batch,
                      std::span<const KnockOut> knock_outs) {
  for (const TokenSequence& text : batch) {
    if (knock_outs.empty() || text.context == nullptr || !text.context->is_dropping()) continue;
    throw BadArgument("edges cannot be knocked out in a context that drops keys: its heads hold different ones");
  }
  for (const KnockOut& knock_out : knock_outs) {
    for (const int layer : knock_out.layers) check_index(layer, config.layers, "layer");
    for (const std::int64_t head : knock_out.heads) check_index(head, config.query_heads, "head");
    if (knock_out.sequence == -1) {
      for (const TokenSequence& text : batch) check_ranges(knock_out, text);
    } else {
      check_index(knock_out.sequence, std::ssize(batch), "sequence");
      check_ranges(knock_out, batch[static_cast<std::size_t>(knock_out.sequence)]);
    }
  }
}

EdgeCuts::EdgeCuts(const Pass& pass) {
  for (const KnockOut& knock_out : pass.options.knock_outs) {
    for (int s = 0; s < static_cast<int>(pass.sequences.size()); ++s) {
      if (knock_out.sequence != -1 && knock_out.sequence != s) continue;
      const PassSequence& text = pass.sequences[static_cast<std::size_t>(s)];
      const std::int64_t end = text.begin + text.length();
      auto rows = listed(knock_out.rows, text.begin, end), keys = listed(knock_out.keys, 0, end);
      if (rows && keys) cuts_.push_back({&knock_out, s, std::move(*rows), std::move(*keys)});
    }
  }
}

std::vector<EdgeCut> EdgeCuts::of(int layer, int sequence) const {
  std::vector<EdgeCut> cuts;
  for (const Cut& cut : cuts_) {
    const std::vector<int>& layers = cut.of->layers;
    if (cut.sequence != sequence || (!layers.empty() && std::ranges::find(layers, layer) == layers.end())) continue;
    cuts.push_back({-1, cut.of->heads, cut.rows, cut.keys});
  }
  return cuts;
}

}  // namespace sightline::model
