#include "src/engine/look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sightline/error.h"
#include "src/engine/look_data.h"
#include "src/engine/memory.h"

namespace sightline::engine {
namespace {

constexpr std::int64_t kGridRows = 32;  // token rows of a tile in grid(): enough to fill the kernel's lanes

Axis items_of_tokens(const std::vector<LookToken>& tokens) {
  Axis items;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    items.push_back({tokens[i].label, index, index + 1, tokens[i].byte_begin, tokens[i].byte_end, tokens[i].special});
  }
  return items;
}

// How many items from the front fit a tile: neighbours without a gap, up to kGridRows tokens, at least one item.
std::size_t items_of_a_tile(std::span<const AxisItem> rows) {
  std::size_t count = 1;
  while (count < rows.size() && rows[count].token_begin == rows[count - 1].token_end &&
         rows[count].token_end - rows[0].token_begin <= kGridRows) {
    ++count;
  }
  return count;
}

// Sums [key_begin, ...) of one tile row into the columns' items, times `share`.
void add_row(const float* row, std::int64_t key_begin, std::span<const AxisItem> cols, double share, double* sums) {
  for (std::size_t c = 0; c < cols.size(); ++c) {
    for (std::int64_t j = cols[c].token_begin; j < cols[c].token_end; ++j) sums[c] += share * row[j - key_begin];
  }
}

Grid pooled(const Look& look, const MapId& id, std::span<const AxisItem> rows, std::span<const AxisItem> cols) {
  Grid grid{static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(cols.size()), {}};
  if (rows.empty() || cols.empty()) return grid;
  const std::int64_t key_begin = std::ranges::min_element(cols, {}, &AxisItem::token_begin)->token_begin;
  const std::int64_t key_end = std::ranges::max_element(cols, {}, &AxisItem::token_end)->token_end;
  std::vector<double> sums(cols.size());
  for (std::size_t count = 0; !rows.empty(); rows = rows.subspan(count)) {
    count = items_of_a_tile(rows);
    const std::int64_t row_begin = rows[0].token_begin;
    const TileRange range{0, 0, row_begin, rows[count - 1].token_end, key_begin, key_end};
    const std::vector<float> weights = look.tile(id, range, Stage::weights);
    for (const AxisItem& row : rows.first(count)) {
      std::ranges::fill(sums, 0);
      const double share = 1 / static_cast<double>(row.token_end - row.token_begin);
      for (std::int64_t i = row.token_begin; i < row.token_end; ++i) {
        add_row(weights.data() + (i - row_begin) * (key_end - key_begin), key_begin, cols, share, sums.data());
      }
      grid.weights.insert(grid.weights.end(), sums.begin(), sums.end());
    }
  }
  return grid;
}

std::int64_t only_token(const Look& look, const AxisItem& word) {
  const std::int64_t count = word.token_end - word.token_begin;
  if (count == 1) return word.token_begin;
  const std::string label = shortened(word.label);
  std::string parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string& piece = look.tokens()[static_cast<std::size_t>(word.token_begin + i)].label;
    parts += fmt::format("{}\"{}/{}\" ({})", i ? ", " : "", label, i + 1, shortened(piece));
  }
  throw BadArgument(fmt::format("\"{}\" is {} pieces and the steps are taken for one: say {}", label, count, parts));
}

std::int64_t numbered_token(const AxisItem& word, std::size_t number) {
  const std::int64_t count = word.token_end - word.token_begin;
  if (std::cmp_greater(number, count)) {
    throw BadArgument(fmt::format("\"{}\" has no piece {}: it has {}", shortened(word.label), number, count));
  }
  return word.token_begin + static_cast<std::int64_t>(number) - 1;
}

}  // namespace

std::string map_name(const MapId& id) { return fmt::format("L{}H{}", id.layer, id.head); }

float MapObservations::on_text(std::size_t row) const {
  float sum = on_segment(row, kSegmentText);
  for (std::int32_t segment = kFixedSegments; segment < segments; ++segment) sum += on_segment(row, segment);
  return sum;
}

const LayerRecord& Look::Data::layer_of(const MapId& id) const {
  return *std::ranges::find_if(layers, [&](const auto& l) { return l.kind == id.kind && l.layer == id.layer; });
}

std::size_t Look::Data::bytes() const {
  std::size_t sum = text.capacity() + segments.of_token.capacity() * sizeof(std::int32_t) +
                    dropped.capacity() * sizeof(DroppedText) + summaries.capacity() * sizeof(MapSummary) +
                    tokens.capacity() * sizeof(LookToken) + words.capacity() * sizeof(AxisItem);
  for (const LayerRecord& layer : layers) sum += layer.bytes();
  for (const std::vector<float>& state : hidden_states) sum += state.capacity() * sizeof(float);
  return sum;
}

const ModelFacts& Look::model() const { return data_->model; }
const std::string& Look::text() const { return data_->text; }
const std::vector<LookToken>& Look::tokens() const { return data_->tokens; }
const Axis& Look::words() const { return data_->words; }
const std::vector<DroppedText>& Look::dropped() const { return data_->dropped; }
const Segments& Look::segments() const { return data_->segments; }
std::size_t Look::cut_tokens() const { return data_->cut_tokens; }
int Look::top() const { return data_->top; }
int Look::layers() const { return static_cast<int>(data_->layers.size()); }
int Look::heads() const { return static_cast<int>(data_->layers.front().heads); }

Axis Look::axis(bool pieces, bool special) const {
  Axis items = pieces ? items_of_tokens(tokens()) : words();
  if (!special) std::erase_if(items, [](const AxisItem& item) { return item.special; });
  return items;
}

std::vector<MapId> Look::maps() const {
  std::vector<MapId> ids;
  for (const LayerRecord& layer : data_->layers) {
    for (int head = 1; head <= layer.heads; ++head) ids.push_back({layer.layer, head, layer.kind});
  }
  return ids;
}

void Look::require(const MapId& id) const {
  if (id.layer < 1 || id.layer > layers()) {
    throw BadArgument(fmt::format("there is no layer {}: {} has layers 1 to {}", id.layer, model().name, layers()));
  }
  if (id.head < 1 || id.head > heads()) {
    throw BadArgument(fmt::format("there is no head {}: {} has heads 1 to {}", id.head, model().name, heads()));
  }
  if (id.kind != model::AttentionKind::self) {
    throw BadArgument(model().name + " has no cross-attention: it reads one text");
  }
}

bool Look::keeps(const MapId& id) const {
  require(id);
  return data_->layer_of(id).kept;
}

std::vector<MapId> Look::kept_maps() const {
  std::vector<MapId> ids = maps();
  std::erase_if(ids, [this](const MapId& id) { return !keeps(id); });
  return ids;
}

std::vector<int> Look::kept_layers() const {
  std::vector<int> kept;
  for (const LayerRecord& layer : data_->layers) {
    if (layer.kept) kept.push_back(layer.layer);
  }
  return kept;
}

void Look::require_kept(const MapId& id) const {
  if (keeps(id)) return;
  std::string kept;
  for (const int layer : kept_layers()) kept += (kept.empty() ? "" : ", ") + std::to_string(layer);
  throw BadArgument(fmt::format("layer {} was not kept, only {}: look again and keep it too", id.layer, kept));
}

std::size_t Look::bytes() const { return data_->bytes(); }

const MapSummary& Look::summary(const MapId& id) const {
  require(id);
  return data_->summaries[static_cast<std::size_t>((id.layer - 1) * heads() + id.head - 1)];
}

const ScoreRule& Look::rule(const MapId& id) const {
  require(id);
  return data_->layer_of(id).rule;
}

bool Look::sets_first_aside() const {
  const std::vector<std::int32_t>& segments = data_->segments.of_token;
  return !segments.empty() && segments.front() == kSegmentFirst;
}

MapObservations Look::observations(const MapId& id) const {
  require_kept(id);
  return data_->layer_of(id).map(id.head);
}

MapId Look::sharpest(std::span<const MapId> candidates) const {
  const auto rank = [this](const MapId& id) {
    const float sharpness = summary(id).sharpness;
    return std::isnan(sharpness) ? -1.0F : sharpness;
  };
  return *std::ranges::max_element(candidates, {}, rank);
}

std::vector<float> Look::tile(const MapId& id, const TileRange& range, Stage stage) const {
  require_kept(id);
  const LayerRecord& layer = data_->layer_of(id);
  TileRange block = range;
  block.head = id.head - 1;
  const std::int64_t rows = std::max<std::int64_t>(block.row_end - block.row_begin, 0);
  const std::int64_t keys = std::max<std::int64_t>(block.key_end - block.key_begin, 0);
  if (rows > layer.rows || keys > layer.keys) {
    throw BadArgument(
        fmt::format("a tile of {} x {} is larger than its map, {} x {}", rows, keys, layer.rows, layer.keys));
  }
  std::vector<float> block_values(static_cast<std::size_t>(rows * keys));
  sightline::tile(layer.stored.problem(), {layer.row_max.data(), layer.row_sum.data()}, block, stage,
                  block_values.data());
  return block_values;
}

Grid Look::grid(const MapId& id, std::span<const AxisItem> rows, std::span<const AxisItem> cols) const {
  return within_memory(kNoMemoryForMap, [&] { return pooled(*this, id, rows, cols); });
}

float Look::special_share(const MapId& id, const AxisItem& row) const {
  const MapObservations map = observations(id);
  double sum = 0;
  for (std::int64_t i = row.token_begin; i < row.token_end; ++i) {
    sum += map.on_segment(static_cast<std::size_t>(i), kSegmentSpecial);
  }
  return static_cast<float>(sum / static_cast<double>(row.token_end - row.token_begin));
}

std::int64_t find_token(const Look& look, std::string_view spec) {
  const Axis& words = look.words();
  if (has_item(words, spec)) return only_token(look, words[find_item(words, spec)]);
  const std::size_t slash = spec.rfind('/');
  const std::string_view name = spec.substr(0, slash);
  if (slash != std::string_view::npos && has_item(words, name)) {
    if (const auto number = parse_count(spec.substr(slash + 1))) {
      return numbered_token(words[find_item(words, name)], *number);
    }
  }
  return static_cast<std::int64_t>(find_item(look.axis(true, true), spec));
}

}  // namespace sightline::engine
