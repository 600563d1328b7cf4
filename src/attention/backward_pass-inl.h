// The backward pass over some blocks of keys of a group: for each query head and tile of rows the scores again, their
// weights from the row state, and what they add to dV, dK and dQ.

#if defined(SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_
#undef SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_
#else
#define SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_
#endif

#include <algorithm>

#include "src/attention/backward_biases.h"
#include "src/attention/backward_pack-inl.h"
#include "src/attention/backward_sums-inl.h"
#include "src/attention/backward_weights-inl.h"
#include "src/attention/backward_workspace.h"
#include "src/attention/mix-inl.h"
#include "src/attention/tile_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Rows of a packed block, and as many after it as are fetched ahead.
class PackedRows {
 public:
  PackedRows(const float* rows, std::int64_t stride, const float* next) {
    for (int slot = 0; slot < kBlockKeys; ++slot) rows_[slot] = rows + slot * stride;
    for (int slot = kBlockKeys; slot < kBlockKeys + kBlockRows; ++slot) rows_[slot] = next;
  }
  const float* const* data() const { return rows_; }

 private:
  const float* rows_[kBlockKeys + kBlockRows];
};

// The blocks of keys that are taken together, packed, and their sums.
class KeyBlocks {
 public:
  KeyBlocks(const BackwardGroup& group, BlockRange blocks, BackwardWorkspace& workspace)
      : group_(group),
        blocks_(blocks),
        work_(workspace),
        stride_(padded(group.width)),
        value_stride_(padded(group.value_width)) {}

  void pack() {
    const std::int64_t slots = blocks_.count() * kBlockKeys, first = blocks_.begin * kBlockKeys - group_.key_position;
    const std::int64_t begin = std::max<std::int64_t>(0, -first), end = std::min(slots, group_.keys - first);
    const auto pack_rows = [&](const RowSource& source, std::int64_t width, std::int64_t stride, float* to) {
      std::fill_n(to, begin * stride, 0.0f);
      widen_rows(source, first + begin, end - begin, width, 1.0f, stride, to + begin * stride);
      std::fill_n(to + end * stride, (slots - end) * stride, 0.0f);
    };
    pack_rows(group_.k, group_.width, stride_, work_.keys.data());
    pack_rows(group_.v, group_.value_width, value_stride_, work_.values.data());
    std::fill_n(work_.keys_sums.data(), slots * stride_, 0.0f);
    std::fill_n(work_.values_sums.data(), slots * value_stride_, 0.0f);
  }

  // dk and dv of the blocks; + 0, so that no -0 leaves.
  void write() const {
    const std::int64_t first = blocks_.begin * kBlockKeys - group_.key_position;
    const std::int64_t begin = std::max<std::int64_t>(0, first);
    const std::int64_t end = std::min(group_.keys, blocks_.end * kBlockKeys - group_.key_position);
    const auto write = [&](const Matrix<float>& to, const float* sums, std::int64_t stride, std::int64_t width,
                           float scale) {
      for (std::int64_t key = begin; to && key < end; ++key) {
        const float* row = sums + (key - first) * stride;
        for (std::int64_t t = 0; t < width; ++t) to.at(key, t) = row[t] * scale + 0.0f;
      }
    };
    write(group_.dk, work_.keys_sums.data(), stride_, group_.width, group_.scale);
    write(group_.dv, work_.values_sums.data(), value_stride_, group_.value_width, 1.0f);
  }

  PackedRows keys(std::int64_t number) const { return rows(work_.keys.data(), stride_, number); }
  PackedRows values(std::int64_t number) const { return rows(work_.values.data(), value_stride_, number); }
  std::int64_t slot_of(std::int64_t number) const { return (number - blocks_.begin) * kBlockKeys; }

 private:
  PackedRows rows(const float* packed, std::int64_t stride, std::int64_t number) const {
    return {packed + slot_of(number) * stride, stride, packed};
  }

  const BackwardGroup& group_;
  const BlockRange blocks_;
  BackwardWorkspace& work_;
  const std::int64_t stride_, value_stride_;
};

// One tile of rows of one head against those blocks.
template <class Mask>
class TileBackward {
 public:
  TileBackward(const BackwardGroup& group, const BackwardHead& head, const TileRows& tile, const KeyBlocks& blocks,
               float* query_sums, BackwardWorkspace& workspace, const Mask& mask)
      : group_(group),
        head_(head),
        tile_(tile),
        lanes_(tile.lanes),
        blocks_(blocks),
        query_sums_(query_sums),
        work_(workspace),
        mask_(mask) {}

  void run(BlockRange range) {
    for (std::int64_t number = range.begin; number < range.end; ++number) {
      const TileBlock block = block_at(head_.problem, number);
      const Sees sees = mask_.prepare(head_.problem, tile_, block);
      if (sees == Sees::nothing) continue;
      if (!packed_) pack_tile();
      run_block(number, block, sees);
    }
  }

 private:
  int live() const { return tile_.live_end; }
  float* lanes_of(BackwardWorkspace::LaneArray which) const { return work_.lane_array(which); }

  void pack_tile() {
    packed_ = true;
    queries_finite_ = pack(head_.q, group_.width, work_.query_rows.data(), work_.query_lanes.data());
    douts_finite_ = pack(head_.dout, group_.value_width, work_.dout_rows.data(), work_.dout_lanes.data());
    for (int lane = 0; lane < lanes_; ++lane) {
      const std::int64_t row = row_of_lane(tile_, lane);
      lanes_of(BackwardWorkspace::kReference)[lane] = head_.row_max[row];
      lanes_of(BackwardWorkspace::kInverse)[lane] = head_.row_sum[row];
      lanes_of(BackwardWorkspace::kDelta)[lane] = head_.delta[row];
    }
    for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
      float* inverse = lanes_of(BackwardWorkspace::kInverse) + lane;
      store(inverse_sum(load(inverse)), inverse);
    }
  }

  // Whether all are finite. Lanes without a row hold 0.
  bool pack(const RowSource& source, std::int64_t width, float* rows, float* lanes) const {
    const std::int64_t stride = padded(width);
    widen_rows(source, tile_.first, live(), width, 1.0f, stride, rows);
    std::fill_n(rows + live() * stride, (lanes_ - live()) * stride, 0.0f);
    rows_to_lanes(rows, stride, width, lanes_, lanes);
    return rows_finite(rows, live(), stride);
  }

  void run_block(std::int64_t number, const TileBlock& block, Sees sees) {
    const PackedRows keys = blocks_.keys(number), values = blocks_.values(number);
    float *scores = work_.weights.data(), *slopes = work_.slopes.data();
    with_vectors(lanes_, [&](auto vectors) HWY_ATTR {
      score_block<vectors()>(keys.data(), work_.query_lanes.data(), group_.width, lanes_, group_.scale, block.begin,
                             block.end, scores, lanes_of(BackwardWorkspace::kUnused));
      score_block<vectors()>(values.data(), work_.dout_lanes.data(), group_.value_width, lanes_, 1.0f, block.begin,
                             block.end, slopes, lanes_of(BackwardWorkspace::kUnused));
    });
    if (sees == Sees::part) {
      mask_scores(mask_, block, lanes_, scores, lanes_of(BackwardWorkspace::kUnused));
      std::copy_n(scores, kBlockKeys * lanes_, work_.seen.data());
    }
    const LaneState state{lanes_of(BackwardWorkspace::kReference), lanes_of(BackwardWorkspace::kInverse),
                          lanes_of(BackwardWorkspace::kDelta)};
    weigh_slopes(state, block.begin, block.end, lanes_, scores, slopes);
    if (head_.dbias) add_bias_gradient(head_.dbias, tile_, block, slopes);
    add_to_keys(number, block, sees);
    add_to_queries(keys, block, sees);
  }

  void add_to_keys(std::int64_t number, const TileBlock& block, Sees sees) {
    const auto add = [&](const float* factors, const float* rows, bool finite, std::int64_t width, float* sums) {
      const std::int64_t stride = padded(width);
      const RowProducts products{factors, lanes_, rows, live(), sums + blocks_.slot_of(number) * stride, stride};
      if (finite || sees == Sees::all) return add_row_products(products, block.begin, block.end);
      add_row_products_selectively(products, block.begin, block.end,
                                   [&](int slot, int row) { return seen(slot)[row] != -__builtin_inff(); });
    };
    add(work_.weights.data(), work_.dout_rows.data(), douts_finite_, group_.value_width, work_.values_sums.data());
    add(work_.slopes.data(), work_.query_rows.data(), queries_finite_, group_.width, work_.keys_sums.data());
  }

  void add_to_queries(const PackedRows& keys, const TileBlock& block, Sees sees) {
    const float* ones = lanes_of(BackwardWorkspace::kOnes);
    const float* slopes = work_.slopes.data();
    if (sees == Sees::part && !all_finite(keys.data(), group_.width, block.begin, block.end)) {
      const auto visible = [&](int slot, int lane)
                               HWY_ATTR { return hn::Not(hn::Eq(load(seen(slot) + lane), splat(-__builtin_inff()))); };
      return mix_block_selectively(keys.data(), group_.width, block.begin, block.end, slopes, ones, lanes_, query_sums_,
                                   visible);
    }
    with_vectors(lanes_, [&](auto vectors) HWY_ATTR {
      mix_block<vectors()>(keys.data(), group_.width, block.begin, block.end, slopes, ones, lanes_, query_sums_);
    });
  }

  const float* seen(int slot) const { return work_.seen.data() + static_cast<std::ptrdiff_t>(slot) * lanes_; }

  const BackwardGroup& group_;
  const BackwardHead& head_;
  const TileRows& tile_;
  const int lanes_;
  const KeyBlocks& blocks_;
  float* const query_sums_;  // [width, lanes]
  BackwardWorkspace& work_;
  const Mask& mask_;
  bool packed_ = false, queries_finite_ = false, douts_finite_ = false;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_
