// The backward pass of one tile of rows of one head over some blocks of keys: the scores again, their weights from the
// row state, and what they add to dV, dK, dQ and the gradients of biases.

#if defined(SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_
#undef SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_
#else
#define SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_
#endif

#include <algorithm>

#include "src/attention/backward_keys-inl.h"
#include "src/attention/backward_sums-inl.h"
#include "src/attention/backward_weights-inl.h"
#include "src/attention/mix-inl.h"
#include "src/attention/score-inl.h"
#include "src/attention/score_terms-inl.h"
#include "src/attention/tile_mask-inl.h"
#include "src/attention/tile_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class TileBackward {
 public:
  // head: its index in the group. query_sums: [width, lanes], added to.
  TileBackward(const BackwardGroup& group, std::size_t head, const TileRows& tile, const KeyBlocks& blocks,
               float* query_sums, BackwardWorkspace& workspace)
      : group_(group),
        head_(group.heads[head]),
        problem_(head_.problem),
        tile_(tile),
        lanes_(tile.lanes),
        blocks_(blocks),
        query_sums_(query_sums),
        work_(workspace),
        bias_sums_(workspace.bias_sums[head]),
        mask_(problem_, tile, workspace.bias.data()),
        terms_(problem_, tile, workspace.bias.data()) {}

  // Blocks that some row sees by its position.
  void run(BlockRange blocks) {
    for (std::int64_t number = blocks.begin; number < blocks.end; ++number) {
      const TileBlock block = block_at(problem_, number);
      const Sees sees = mask_.prepare(block);
      if (sees == Sees::nothing) continue;
      if (!packed_) pack();
      run_block(number, mask_.narrowed(block), sees);
    }
  }

 private:
  using Work = BackwardWorkspace;

  int live() const { return tile_.live_end; }

  void pack() {
    packed_ = true;
    const std::int64_t width = problem_.width, value_width = problem_.value_width;
    pack_rows(problem_.q, width, 1, work_.query_rows.data(), work_.query_lanes.data());
    pack_rows(head_.dout, value_width, head_.out_scale(), work_.dout_rows.data(), work_.dout_lanes.data());
    queries_finite_ = all_finite(work_.query_rows.data(), live() * padded(width));
    douts_finite_ = all_finite(work_.dout_rows.data(), live() * padded(value_width));
    for (int lane = 0; lane < lanes_; ++lane) {
      const std::int64_t row = tile_.row(lane);
      work_.lane_array(Work::kReference)[lane] = head_.rows.reference[row];
      work_.lane_array(Work::kInverse)[lane] = head_.rows.inverse[row];
      work_.lane_array(Work::kDelta)[lane] = head_.rows.delta[row];
    }
  }

  // Lanes without a row hold 0.
  void pack_rows(const RowSource& source, std::int64_t width, float factor, float* rows, float* lanes) const {
    const std::int64_t stride = padded(width);
    widen_rows(source, tile_.first, live(), width, stride, rows);
    for (std::int64_t i = 0; factor != 1 && i < live() * stride; ++i) rows[i] *= factor;
    std::fill_n(rows + live() * stride, (lanes_ - live()) * stride, 0.0f);
    rows_to_lanes(rows, stride, width, lanes_, lanes);
  }

  void run_block(std::int64_t number, const TileBlock& block, Sees sees) {
    const PackedRows keys = blocks_.keys(number), values = blocks_.values(number);
    float* slopes = work_.slopes.data();
    take_products(keys, values, block);
    finish_scores(block, sees);
    weigh(block);
    add_to_biases(block);
    if (problem_.softcap > 0) {
      uncap_slopes(work_.capped.data(), problem_.softcap, block.begin, block.end, lanes_, slopes);
    }
    add_to_keys(number, block);
    if (head_.dq) add_to_queries(keys, block, sees);
  }

  // Raw scores, and dL/d(weight) before dropout.
  void take_products(const PackedRows& keys, const PackedRows& values, const TileBlock& block) {
    float* unused = work_.lane_array(Work::kUnused);
    with_vectors(lanes_, [&](auto vectors) HWY_ATTR {
      score_block<vectors()>(keys.data(), work_.query_lanes.data(), problem_.width, lanes_, problem_.scale, block.begin,
                             block.end, work_.weights.data(), unused);
      score_block<vectors()>(values.data(), work_.dout_lanes.data(), problem_.value_width, lanes_, 1.0f, block.begin,
                             block.end, work_.slopes.data(), unused);
    });
  }

  void finish_scores(const TileBlock& block, Sees sees) {
    float* scores = work_.weights.data();
    terms_.cap(block, scores);
    if (problem_.softcap > 0) std::copy_n(scores, kBlockKeys * lanes_, work_.capped.data());
    terms_.add(block, scores);
    if (sees == Sees::part) mask_.apply(block, scores, work_.lane_array(Work::kUnused));
    // A pair that performs no operation in the sums over rows is told from one whose factor is 0 only where it must.
    selective_ = (sees == Sees::part || problem_.keep) && !(queries_finite_ && douts_finite_);
    if (selective_) show(block, sees);
  }

  void show(const TileBlock& block, Sees sees) {
    if (sees == Sees::part) return mask_.show(block, work_.shown.data());
    std::fill_n(work_.shown.data(), kBlockKeys * lanes_, 0.0f);
  }

  void weigh(const TileBlock& block) {
    float *weights = work_.weights.data(), *slopes = work_.slopes.data();
    const LaneState state{work_.lane_array(Work::kReference), work_.lane_array(Work::kInverse),
                          work_.lane_array(Work::kDelta)};
    if (problem_.keep) {
      std::fill_n(kept_, kBlockKeys, std::uint64_t{0});
      kept_pairs(problem_, tile_, block, kept_);
      transpose_bits(kept_);
      drop(kept_, problem_.keep_scale, block.begin, block.end, lanes_, slopes);
    }
    weigh_slopes(state, block.begin, block.end, lanes_, weights, slopes);
    if (problem_.keep) drop(kept_, problem_.keep_scale, block.begin, block.end, lanes_, weights);
  }

  void add_to_biases(const TileBlock& block) {
    const ScoreSlopes slopes(problem_, tile_, block, work_.slopes.data());
    if (head_.dbias) slopes.add_to_bias(head_.dbias);
    if (group_.wants_slopes) slopes.add_to_slope(bias_sums_.slope);
    if (group_.buckets != nullptr) slopes.add_to_buckets(*group_.buckets, bias_sums_.buckets);
  }

  void add_to_keys(std::int64_t number, const TileBlock& block) {
    const auto products = [&](const float* factors, const float* rows, std::int64_t width, float* sums) {
      return RowProducts{factors, lanes_, rows, live(), sums, padded(width)};
    };
    const RowProducts to_values =
        products(work_.weights.data(), work_.dout_rows.data(), problem_.value_width, blocks_.value_sums(number));
    const RowProducts to_keys =
        products(work_.slopes.data(), work_.query_rows.data(), problem_.width, blocks_.key_sums(number));
    if (!selective_) {
      if (group_.dv) add_row_products(to_values, block.begin, block.end);
      if (group_.dk) add_row_products(to_keys, block.begin, block.end);
      return;
    }
    const auto seen = [&](int slot, int row) { return work_.shown[slot * lanes_ + row] == 0; };
    const auto mixed = [&](int slot, int row) {
      return seen(slot, row) && (!problem_.keep || (kept_[slot] >> row & 1) != 0);
    };
    add_row_products_selectively(to_values, block.begin, block.end, mixed);
    add_row_products_selectively(to_keys, block.begin, block.end, seen);
  }

  void add_to_queries(const PackedRows& keys, const TileBlock& block, Sees sees) {
    const float *ones = work_.lane_array(Work::kOnes), *slopes = work_.slopes.data();
    if (sees == Sees::part && !blocks_.keys_finite()) {
      if (!selective_) show(block, sees);
      return mix_block_selectively(keys.data(), problem_.width, block.begin, block.end, slopes, ones, lanes_,
                                   work_.shown.data(), query_sums_);
    }
    with_vectors(lanes_, [&](auto vectors) HWY_ATTR {
      mix_block<vectors()>(keys.data(), problem_.width, block.begin, block.end, slopes, ones, lanes_, query_sums_);
    });
  }

  const BackwardGroup& group_;
  const BackwardHead& head_;
  const HeadProblem& problem_;
  const TileRows& tile_;
  const int lanes_;
  const KeyBlocks& blocks_;
  float* const query_sums_;
  BackwardWorkspace& work_;
  BiasSums& bias_sums_;
  TileMask mask_;
  const ScoreTerms terms_;
  bool packed_ = false, queries_finite_ = false, douts_finite_ = false;
  bool selective_ = false;          // of the block
  std::uint64_t kept_[kBlockKeys];  // of the block: by slot the lanes that dropout keeps
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BACKWARD_PASS_INL_H_
