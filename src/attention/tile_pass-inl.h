// The fused pass over one tile of rows: for each block of keys score, mask, weigh, observe, mix; for each chunk merge;
// then finish.

#if defined(SIGHTLINE_ATTENTION_TILE_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_TILE_PASS_INL_H_
#undef SIGHTLINE_ATTENTION_TILE_PASS_INL_H_
#else
#define SIGHTLINE_ATTENTION_TILE_PASS_INL_H_
#endif

#include "src/attention/head_sight.h"
#include "src/attention/mix-inl.h"
#include "src/attention/softmax_state-inl.h"
#include "src/attention/tile_scores-inl.h"
#include "src/observe/offset_scores.h"
#include "src/observe/segment_sums-inl.h"
#include "src/observe/top_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

inline SoftmaxState state_in(AlignedBuffer<float>& arrays) {
  float* at = arrays.data();
  return {at, at + kTileRows, at + 2 * kTileRows, at + 3 * kTileRows, at + 4 * kTileRows};
}

template <class Mask>
class TilePass {
 public:
  TilePass(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
           const Mask& mask)
      : head_(head),
        sight_(sight),
        tile_(tile),
        lanes_(tile.lanes),
        work_(workspace),
        mask_(mask),
        chunk_(state_in(workspace.state)),
        total_(state_in(workspace.state_total)),
        top_{sight.top_k, top_capacity(sight.top_k), work_.topk_score.data(), work_.topk_index.data()},
        offsets_{sight.offsets, work_.offset_score.data()},
        segments_{sight.segments, work_.segment_sum.data(), work_.segment_reference.data(), work_.segment_total.data(),
                  &work_.segments_seen},
        bins_{static_cast<std::int32_t>(sight.overview_cols), work_.bin_sum.data(), work_.bin_reference.data(),
              work_.bin_total.data(), &work_.bins_seen} {}

  void run() {
    begin();
    const BlockRange blocks = blocks_seen(head_, tile_);
    constexpr std::int64_t kChunkBlocks = kChunkKeys / kBlockKeys;
    for (std::int64_t number = blocks.begin; number < blocks.end;) {
      const std::int64_t chunk_end = std::min((number / kChunkBlocks + 1) * kChunkBlocks, blocks.end);
      begin_chunk();
      for (; number < chunk_end; ++number) absorb(block_at(head_, number));
      merge_chunk();
    }
  }

 private:
  void begin() {
    pack_queries(head_, tile_, work_.queries.data());
    total_.clear(lanes_);
    if (sight_.out) std::fill_n(work_.out_total.data(), head_.value_width * lanes_, 0.0f);
    top_.begin(lanes_);
    offsets_.begin(lanes_);
    segments_.begin(lanes_);
    bins_.begin(lanes_);
    work_.strip.blocks.clear();
  }

  void begin_chunk() {
    chunk_.clear(lanes_);
    if (sight_.out) std::fill_n(work_.out.data(), head_.value_width * lanes_, 0.0f);
    segments_.begin_chunk(lanes_);
    bins_.begin_chunk(lanes_);
  }

  void absorb(TileBlock block) {
    const Sees sees = mask_.prepare(head_, tile_, block);
    if (sees == Sees::nothing) return;
    float* block_max = work_.lane_array(TileWorkspace::kBlockMax);
    raw_scores(head_, tile_, block, work_);
    if (sees == Sees::part) mask_scores(mask_, block, lanes_, work_.scores.data(), block_max);
    block.scores = work_.scores.data();
    float* weights = weights_of_block();
    block.weights = weights;
    // Scores become weights in place: who needs scores comes first.
    if (top_.k > 0) top_.absorb(block, lanes_, block_max);
    offsets_.absorb(block, lanes_, head_.query_position + tile_.first);
    weigh_block(block, weights, block_max);
    if (segments_.segments > 0) segments_.absorb(block, *sight_.segment_parts, lanes_, block_result().sum, chunk_.m);
    if (bins_.segments > 0) bins_.absorb(block, *sight_.bin_parts, lanes_, block_result().sum, chunk_.m);
    mix(block, sees);
    if (sight_.key_mass != nullptr) keep(block);
  }

  float* weights_of_block() {
    if (sight_.key_mass == nullptr) return work_.scores.data();
    return work_.strip.weights.data() + work_.strip.blocks.size() * kBlockKeys * kTileRows;
  }

  void keep(const TileBlock& block) {
    float* maxima = work_.strip.running_max.data() + work_.strip.blocks.size() * kTileRows;
    std::copy_n(chunk_.m, lanes_, maxima);
    work_.strip.blocks.push_back(block);
  }

  BlockResult block_result() {
    return {work_.lane_array(TileWorkspace::kRescale), work_.lane_array(TileWorkspace::kBlockSum)};
  }

  void weigh_block(const TileBlock& block, float* weights, const float* block_max) {
    const bool entropy = sight_.entropy != nullptr;
    const bool position = sight_.position != nullptr || sight_.distance != nullptr;
    const std::int64_t lane_position = head_.query_position + tile_.first;
    const auto absorb_with = [&](auto with_entropy, auto with_position) {
      absorb_block<with_entropy(), with_position()>(chunk_, block, weights, lanes_, block_max, block_result(),
                                                    sight_.distance != nullptr ? &lane_position : nullptr);
    };
    if (entropy && position) return absorb_with(std::true_type(), std::true_type());
    if (entropy) return absorb_with(std::true_type(), std::false_type());
    if (position) return absorb_with(std::false_type(), std::true_type());
    absorb_with(std::false_type(), std::false_type());
  }

  void mix(const TileBlock& block, Sees sees) {
    if (!sight_.out) return;
    RowPointers values;
    values.set(head_.v, head_.value_width, head_.keys, block, work_.zeros.data(), work_.packed_values.data());
    const float* rescale = block_result().rescale;
    if (sees == Sees::part && !all_finite(values.data(), head_.value_width, block.begin, block.end)) {
      const auto visible = [&](int slot, int lane) HWY_ATTR { return mask_.visible(slot, lane); };
      mix_block_selectively(values.data(), head_.value_width, block.begin, block.end, block.weights, rescale, lanes_,
                            work_.out.data(), visible);
      return;
    }
    with_vectors(lanes_, [&](auto vectors) HWY_ATTR {
      mix_block<vectors()>(values.data(), head_.value_width, block.begin, block.end, block.weights, rescale, lanes_,
                           work_.out.data());
    });
  }

  void merge_chunk() {
    float* factor_total = work_.lane_array(TileWorkspace::kRescale);
    float* factor_chunk = work_.lane_array(TileWorkspace::kBlockSum);
    merge_state(total_, chunk_, lanes_, factor_total, factor_chunk);
    segments_.merge_chunk(lanes_, chunk_.m, factor_total, factor_chunk);
    bins_.merge_chunk(lanes_, chunk_.m, factor_total, factor_chunk);
    if (sight_.out)
      merge_output(work_.out_total.data(), work_.out.data(), head_.value_width, lanes_, factor_total, factor_chunk);
  }

  const HeadProblem& head_;
  const HeadSight& sight_;
  const TileRows& tile_;
  const int lanes_;
  TileWorkspace& work_;
  const Mask& mask_;
  const SoftmaxState chunk_, total_;
  const TopKeys top_;
  const OffsetScores offsets_;
  const SegmentSums segments_, bins_;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_TILE_PASS_INL_H_
