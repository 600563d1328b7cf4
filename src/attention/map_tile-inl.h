// Any block of a head's map, from queries, keys and the row state: the scores are the pass's own.

#if defined(SIGHTLINE_ATTENTION_MAP_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_MAP_TILE_INL_H_
#undef SIGHTLINE_ATTENTION_MAP_TILE_INL_H_
#else
#define SIGHTLINE_ATTENTION_MAP_TILE_INL_H_
#endif

#include "src/attention/final_state-inl.h"
#include "src/attention/tile_scores-inl.h"
#include "src/attention/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class MapTile {
 public:
  MapTile(const HeadProblem& head, const TileRows& tile, const TileRange& range, Stage stage, TileWorkspace& workspace)
      : head_(head), tile_(tile), range_(range), stage_(stage), work_(workspace), scores_(head, tile, workspace) {}

  // state: of the head's rows. out: of the tile's first row.
  void run(const RowState& state, float* out, std::int64_t out_stride) {
    scores_.begin();
    if (stage_ == Stage::weights) read_state(state);
    const BlockRange blocks = head_.blocks();
    const std::int64_t first = std::max(blocks.begin, (head_.key_position + range_.key_begin) / kBlockKeys);
    for (std::int64_t number = first; number < blocks.end; ++number) {
      const TileBlock block = block_at(head_, number);
      if (block.first_key + block.begin >= range_.key_end) break;
      fill_block(block);
      write_block(block, out, out_stride);
    }
    hide_rest(out, out_stride);
  }

 private:
  void read_state(const RowState& state) {
    float* max = work_.lane_array(TileWorkspace::kFinalMax);
    float* inverse = work_.lane_array(TileWorkspace::kInverse);
    alignas(64) float sinks[kTileRows];
    sinks_of(head_, tile_, sinks);
    for (int lane = 0; lane < tile_.lanes; ++lane) {
      max[lane] = state.max[tile_.row(lane)];
      inverse[lane] = state.sum[tile_.row(lane)];
    }
    for (int lane = 0; lane < tile_.lanes; lane += static_cast<int>(kLanes)) {
      const F m = load(max + lane), l = load(inverse + lane);
      const FinalState last = head_.sinks == nullptr ? final_state(m, l) : final_state(m, l, load(sinks + lane));
      store(last.max, max + lane);
      store(last.inverse, inverse + lane);
    }
  }

  void fill_block(const TileBlock& block) {
    float* scores = work_.scores.data();
    const bool masked = stage_ == Stage::biased || stage_ == Stage::weights;
    const Sees sees = masked ? scores_.prepare(block) : Sees::all;
    if (sees == Sees::nothing) {
      std::fill_n(scores, kBlockKeys * tile_.lanes, -__builtin_inff());
    } else {
      scores_.compute(block, sees, masked ? Stage::biased : stage_);
    }
    const float* max = work_.lane_array(TileWorkspace::kFinalMax);
    const float* inverse = work_.lane_array(TileWorkspace::kInverse);
    for (int i = block.begin * tile_.lanes; i < block.end * tile_.lanes; i += static_cast<int>(kLanes)) {
      const int lane = i % tile_.lanes;
      const F score = load(scores + i);
      const F value = stage_ == Stage::weights ? final_weight(score, load(max + lane), load(inverse + lane)) : score;
      store(hn::Add(value, hn::Zero(kF32)), scores + i);  // no -0
    }
  }

  void write_block(const TileBlock& block, float* out, std::int64_t out_stride) const {
    const std::int64_t from = std::max(range_.key_begin, block.first_key + block.begin);
    const std::int64_t to = std::min(range_.key_end, block.first_key + block.end);
    const auto row_of = [&](std::int64_t row, std::int64_t key) {
      return out + (tile_.live_begin + row) * out_stride + (key - range_.key_begin);
    };
    const auto keys_of = [&](std::int64_t key) {
      return work_.scores.data() + (key - block.first_key) * tile_.lanes + tile_.live_begin;
    };
    const std::int64_t rows = tile_.live_end - tile_.live_begin;
    std::int64_t key = from;
    for (; key + kTurned <= to; key += kTurned) {
      const float* keys[kTurned];
      for (int i = 0; i < kTurned; ++i) keys[i] = keys_of(key + i);
      turn_rows(keys, rows, out_stride, row_of(0, key));
    }
    for (; key < to; ++key) {
      for (std::int64_t row = 0; row < rows; ++row) *row_of(row, key) = keys_of(key)[row];
    }
  }

  // Keys of the tensor before and behind those in use are hidden.
  void hide_rest(float* out, std::int64_t out_stride) const {
    const float value = stage_ == Stage::weights ? 0.0f : -__builtin_inff();
    for (int lane = tile_.live_begin; lane < tile_.live_end; ++lane) {
      float* row = out + lane * out_stride;
      for (std::int64_t key = range_.key_begin; key < std::min(range_.key_end, head_.first_key()); ++key) {
        row[key - range_.key_begin] = value;
      }
      for (std::int64_t key = std::max(range_.key_begin, head_.keys); key < range_.key_end; ++key) {
        row[key - range_.key_begin] = value;
      }
    }
  }

  const HeadProblem& head_;
  const TileRows& tile_;
  const TileRange& range_;
  const Stage stage_;
  TileWorkspace& work_;
  TileScores scores_;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_MAP_TILE_INL_H_
