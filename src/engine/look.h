#ifndef SIGHTLINE_ENGINE_LOOK_H_
#define SIGHTLINE_ENGINE_LOOK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/attention.h"
#include "sightline/transformer.h"
#include "src/engine/axis.h"
#include "src/engine/look_token.h"
#include "src/engine/model_facts.h"
#include "src/engine/score_rule.h"
#include "src/engine/segments.h"

namespace sightline::engine {

/// The line that stands beside every picture, table and report of weights.
inline constexpr std::string_view kCaveat = "Attention weights show where information flowed, not why.";

/// Weights that block() computes for one request, all maps together, where the pyramid does not have them: some 0.2 s.
inline constexpr std::int64_t kMaxBlockWeights = std::int64_t{1} << 28;
inline constexpr std::int64_t kMaxBlockStep = std::int64_t{1} << 30;

/// One attention map of the model. Layers and heads count from 1, as in "L4H2".
struct MapId {
  int layer = 1;
  int head = 1;
  model::AttentionKind kind = model::AttentionKind::self;

  bool operator==(const MapId&) const = default;
};

/// "L4H2".
std::string map_name(const MapId& id);

/// A stretch of the text that is visible and of which the tokenizer kept nothing (it cleans some characters away).
struct DroppedText {
  std::size_t byte_begin = 0, byte_end = 0;
};

/// The offsets (key position minus query position) observed in every row: the previous token, the same, the next.
inline constexpr std::int64_t kOffsets[] = {-1, 0, 1};

/// The numbers of one map in the layers x heads table. Each is a mean over the rows of text tokens (rows of special
/// tokens and of kSegmentFirst are left out; such keys are not, unless it says so). docs/report.md has the formulas.
/// All come from observations of the pass, never from the map.
struct MapSummary {
  float entropy = 0;             // nats
  float entropy_normalised = 0;  // entropy / ln(keys that the row sees): 0 = one key has all, 1 = even
  float special_share = 0;       // weight on special tokens, 0..1
  float first_share = 0;         // weight on kSegmentFirst
  float sink_share = 0;          // weight of the head's sink, which is no key: rows then sum to less than 1
  float previous_share = 0;      // weight on the previous, the same and the next token
  float same_share = 0;
  float next_share = 0;
  float distance = 0;      // sum of w |i - j|, in tokens
  float text_entropy = 0;  // entropy of the row over text keys alone, renormalised, nats
  float sharpness =
      0;  // 0..1: mean of (weight on text keys) * (1 - text entropy / ln(text keys seen)); see Look::sharpest()
};

/// What the pass observed of one map, a row a token. All spans are dense, row-major, and live as long as the Look.
struct MapObservations {
  std::int64_t rows = 0, keys = 0;
  std::int32_t segments = 0;                // as many as Look::segments() names
  int top = 0;                              // slots a row in top_index and top_weight, at least LookOptions::top
  std::span<const float> row_max;           // [rows] largest score
  std::span<const float> row_sum;           // [rows] sum of exp(score - row_max)
  std::span<const float> lse;               // [rows]
  std::span<const float> entropy;           // [rows] nats
  std::span<const float> text_entropy;      // [rows] the same over text keys alone, renormalised
  std::span<const float> position;          // [rows] sum of w j
  std::span<const float> distance;          // [rows] sum of w |i - j|
  std::span<const float> sink_weight;       // [rows] weight of the head's sink; empty where the model has none
  std::span<const float> offset_mass;       // [rows, 3] as kOffsets
  std::span<const float> segment_mass;      // [rows, segments]
  std::span<const float> key_mass;          // [keys] sum over all rows of the weight of each key
  std::span<const std::int32_t> top_index;  // [rows, top] key, largest weight first; -1 = none
  std::span<const float> top_weight;        // [rows, top]

  /// Weight of a row on one segment, and on all text, named or not.
  float on_segment(std::size_t row, std::int32_t segment) const {
    return segment_mass[row * static_cast<std::size_t>(segments) + static_cast<std::size_t>(segment)];
  }
  float on_text(std::size_t row) const;
};

/// A dense block of weights, rows x cols.
struct Grid {
  std::int64_t rows = 0, cols = 0;
  std::vector<float> weights;

  float at(std::int64_t row, std::int64_t col) const { return weights[static_cast<std::size_t>(row * cols + col)]; }
};

/// Weights of maps between two ranges of tokens, pooled into cells of step x step weights.
struct BlockRequest {
  std::vector<MapId> maps;  // a block each, in this order; with `mean` one block, the mean of these maps
  bool mean = false;
  std::int64_t row_begin = 0, row_end = 0, key_begin = 0, key_end = 0;  // tokens
  std::int64_t step = 1;  // a power of two; the last cells of a row and of a column pool what is left

  std::int64_t blocks() const { return mean ? 1 : static_cast<std::int64_t>(maps.size()); }
  std::int64_t rows() const { return (row_end - row_begin + step - 1) / step; }  // cells
  std::int64_t cols() const { return (key_end - key_begin + step - 1) / step; }
};

/// A text seen through a model: what one forward pass observed, and Q, K, V and the row state of every layer, from
/// which any block of any map follows exactly. Memory is O(n) a layer, and for long texts a pyramid of at most 4096 x
/// 4096 cells a map; no n x n map is kept. Made by Session::look(). Of layers that LookOptions::keep_layers left out
/// the summaries alone are kept: whatever else is asked of their maps is refused with BadArgument that says which are.
/// Safe for concurrent use.
class Look {
 public:
  const ModelFacts& model() const;
  const std::string& text() const;
  const std::vector<LookToken>& tokens() const;
  const Axis& words() const;  // special tokens are words of their own
  const std::vector<DroppedText>& dropped() const;
  const Segments& segments() const;
  std::size_t cut_tokens() const;  // tokens that `truncate` removed; 0 = nothing was cut
  int top() const;                 // LookOptions::top

  /// Words, or with `pieces` tokens; without `special`, what the template added is left out.
  Axis axis(bool pieces, bool special) const;

  int layers() const;
  int heads() const;
  std::vector<MapId> maps() const;  // in order of layer, then head
  /// Throws BadArgument that says which layers and heads there are.
  void require(const MapId& id) const;
  /// The same, and where the layer was not kept, which were.
  void require_kept(const MapId& id) const;

  /// Layers whose maps can be looked into, ascending: LookOptions::keep_layers, or all.
  std::vector<int> kept_layers() const;
  bool keeps(const MapId& id) const;
  std::vector<MapId> kept_maps() const;
  std::size_t bytes() const;  // memory that the look holds; look_bytes() says it before the pass

  const MapSummary& summary(const MapId& id) const;
  const ScoreRule& rule(const MapId& id) const;
  /// Whether the first token is set aside as special ones are (kSegmentFirst).
  bool sets_first_aside() const;
  MapObservations observations(const MapId& id) const;
  /// The map with the highest `sharpness`, of equals the first. A head wins by putting much of its weight on text
  /// tokens AND gathering it on few of them; one that leaves 1 % to the text scores at most 0.01, however that 1 %
  /// lies.
  MapId sharpest() const { return sharpest(kept_maps()); }
  /// The same among `candidates`, which must not be empty.
  MapId sharpest(std::span<const MapId> candidates) const;

  /// Block of a map between tokens, as tile() gives it: rows and keys are token ranges.
  std::vector<float> tile(const MapId& id, const TileRange& range, Stage stage) const;

  /// Weights pooled into cells, [blocks, rows, cols] of the request. A cell is the mean of its step x step weights; at
  /// step 1 these are the bits of tile(). Steps of pyramid_step() or more are folded from what the pass pooled, where
  /// both ranges begin and end at multiples of pyramid_step(), or at the map's end; all else is computed from tiles of
  /// a few rows, kMaxBlockWeights weights at most. The two agree to 1e-5 of a cell. Throws BadArgument for an empty or
  /// unknown range, a step that is no power of two, and a block that is too large.
  std::vector<float> block(const BlockRequest& request) const;
  /// Rows and keys of a cell that the pass pooled; 0: the text is short, and every block is computed from tiles.
  std::int64_t pyramid_step() const;

  /// Block of a map between items of axes. Weight TO an item is the sum over its tokens, weight FROM an item the mean
  /// over its tokens, so that a row still sums to 1 over a whole axis. Goes through tiles of a few rows: a map of any
  /// size never stands in memory.
  Grid grid(const MapId& id, std::span<const AxisItem> rows, std::span<const AxisItem> cols) const;

  /// Share of the row's weight that lies on special tokens: what is set aside where they are not shown. Nothing is
  /// renormalised.
  float special_share(const MapId& id, const AxisItem& row) const;

  struct Data;
  explicit Look(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }  // for the engine's own files

 private:
  std::shared_ptr<const Data> data_;
};

/// The token (index from 0) that `spec` names: a word of one token as find_item() finds it, the second token of a word
/// as `didn't/2`, or failing both the only token spelled so, as find_item() finds it among all tokens. Throws
/// BadArgument where a word has several tokens, listing them: the steps of attention are taken for one.
std::int64_t find_token(const Look& look, std::string_view spec);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_LOOK_H_
