#include "src/model/edge_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

}  // namespace

bool names_layer(const std::vector<int>& layers, int layer) {
  return layers.empty() || std::ranges::find(layers, layer) != layers.end();
}

std::optional<std::vector<std::int64_t>> listed_positions(const std::vector<PositionRange>& ranges, std::int64_t begin,
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

EdgeCuts::EdgeCuts(const Pass& pass) : cuts_(pass.sequences.size()) {
  for (const KnockOut& knock_out : pass.options.knock_outs) {
    const bool of_one = knock_out.sequence != -1;
    const std::size_t first = of_one ? static_cast<std::size_t>(knock_out.sequence) : 0;
    for (std::size_t s = first; s < (of_one ? first + 1 : cuts_.size()); ++s)
      add(knock_out, pass.sequences[s], cuts_[s]);
  }
}

void EdgeCuts::add(const KnockOut& knock_out, const PassSequence& text, std::vector<Cut>& cuts) const {
  auto rows = listed_positions(knock_out.rows, text.query_begin(), text.query_end()),
       keys = listed_positions(knock_out.keys, 0, text.key_count());
  if (rows && keys) cuts.push_back({&knock_out, std::move(*rows), std::move(*keys)});
}

std::vector<EdgeCut> EdgeCuts::of(int layer, int sequence) const {
  std::vector<EdgeCut> cuts;
  for (const Cut& cut : cuts_[static_cast<std::size_t>(sequence)]) {
    if (names_layer(cut.of->layers, layer)) cuts.push_back({-1, cut.of->heads, cut.rows, cut.keys});
  }
  return cuts;
}

}  // namespace sightline::model
