// Any block of a head's map, from queries, keys and the row state: the scores are the pass's own.

#if defined(SIGHTLINE_ATTENTION_MAP_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_MAP_TILE_INL_H_
#undef SIGHTLINE_ATTENTION_MAP_TILE_INL_H_
#else
#define SIGHTLINE_ATTENTION_MAP_TILE_INL_H_
#endif

#include "src/attention/softmax_state-inl.h"
#include "src/attention/tile_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

template <class Mask>
class MapTile {
 public:
  MapTile(const HeadProblem& head, const TileRange& range, Stage stage, TileWorkspace& workspace, const Mask& mask)
      : head_(head), range_(range), stage_(stage), work_(workspace), mask_(mask) {}

  void run(const RowState& state, const TileRows& tile, float* out) {
    pack_queries(head_, tile, work_.queries.data());
    float* m = work_.state.data();
    float* inverse = m + kTileRows;
    for (int lane = 0; lane < tile.lanes && stage_ == Stage::weights; ++lane) {
      m[lane] = state.max[row_of_lane(tile, lane)];
      inverse[lane] = state.sum[row_of_lane(tile, lane)];
    }
    for (int lane = 0; lane < tile.lanes; lane += static_cast<int>(kLanes)) {
      if (stage_ == Stage::weights) store(inverse_sum(load(inverse + lane)), inverse + lane);
    }
    const BlockRange blocks = head_.blocks();
    const std::int64_t first = std::max(blocks.begin, (head_.key_position + range_.key_begin) / kBlockKeys);
    for (std::int64_t number = first; number < blocks.end; ++number) {
      const TileBlock block = block_at(head_, number);
      if (block.first_key + block.begin >= range_.key_end) break;
      fill_block(tile, block, m, inverse);
      write_block(tile, block, out);
    }
    hide_rest(tile, out);
  }

 private:
  void fill_block(const TileRows& tile, const TileBlock& block, const float* m, const float* inverse) {
    float* scores = work_.scores.data();
    const bool masked = stage_ == Stage::biased || stage_ == Stage::weights;
    const Sees sees = masked ? mask_.prepare(head_, tile, block) : Sees::all;
    if (sees == Sees::nothing) {
      std::fill_n(scores, kBlockKeys * tile.lanes, -__builtin_inff());
    } else {
      raw_scores(head_, tile, block, work_);
    }
    if (sees == Sees::part) {
      mask_scores(mask_, block, tile.lanes, scores, work_.lane_array(TileWorkspace::kBlockMax));
    }
    if (stage_ != Stage::weights) return;
    for (int i = block.begin * tile.lanes; i < block.end * tile.lanes; i += static_cast<int>(kLanes)) {
      const int lane = i % tile.lanes;
      store(final_weight(load(scores + i), load(m + lane), load(inverse + lane)), scores + i);
    }
  }

  void write_block(const TileRows& tile, const TileBlock& block, float* out) const {
    const std::int64_t from = std::max(range_.key_begin, block.first_key + block.begin);
    const std::int64_t to = std::min(range_.key_end, block.first_key + block.end);
    for (int lane = tile.live_begin; lane < tile.live_end; ++lane) {
      float* row = row_of(tile, lane, out);
      for (std::int64_t key = from; key < to; ++key) {
        row[key - range_.key_begin] = work_.scores[(key - block.first_key) * tile.lanes + lane] + 0.0f;  // no -0
      }
    }
  }

  // Keys of the tensor behind those in use are hidden.
  void hide_rest(const TileRows& tile, float* out) const {
    const float value = stage_ == Stage::weights ? 0.0f : -__builtin_inff();
    for (int lane = tile.live_begin; lane < tile.live_end; ++lane) {
      float* row = row_of(tile, lane, out);
      for (std::int64_t key = std::max(range_.key_begin, head_.keys); key < range_.key_end; ++key) {
        row[key - range_.key_begin] = value;
      }
    }
  }

  float* row_of(const TileRows& tile, int lane, float* out) const {
    return out + (tile.first + lane - range_.row_begin) * (range_.key_end - range_.key_begin);
  }

  const HeadProblem& head_;
  const TileRange& range_;
  const Stage stage_;
  TileWorkspace& work_;
  const Mask& mask_;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_MAP_TILE_INL_H_
