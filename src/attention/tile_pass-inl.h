// The fused pass over one tile of rows: for each block of keys score, mask, weigh, observe, mix; for each chunk merge.

#if defined(SIGHTLINE_ATTENTION_TILE_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_TILE_PASS_INL_H_
#undef SIGHTLINE_ATTENTION_TILE_PASS_INL_H_
#else
#define SIGHTLINE_ATTENTION_TILE_PASS_INL_H_
#endif

#include "src/attention/few_softmax-inl.h"
#include "src/attention/head_sight.h"
#include "src/attention/mass_strip-inl.h"
#include "src/attention/mix-inl.h"
#include "src/attention/softmax_state-inl.h"
#include "src/attention/tile_scores-inl.h"
#include "src/observe/offset_scores.h"
#include "src/observe/segment_sums-inl.h"
#include "src/observe/top_keys-inl.h"
#include "src/observe/value_lengths-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

inline SoftmaxState state_in(const AlignedBuffer<float>& arrays, int lanes) {
  float* at = const_cast<float*>(arrays.data());
  return {at, at + lanes, at + 2 * lanes, at + 3 * lanes, at + 4 * lanes};
}

// use(segment) for each segment with a key that the lane's row sees, and that isn't known(segment) yet. Key by key: for
// the rare sums that do not tell, of 0 or in rows of NaN.
template <class Known, class Use>
void for_each_seen_segment(const HeadProblem& head, const TileRows& tile, int lane, const SegmentParts& parts,
                           const Known& known, const Use& use) {
  const std::int64_t of_head = tile.head(lane), row = tile.row(lane);
  const BlockRange blocks = head.blocks(head.interval(row));
  for (std::int64_t number = blocks.begin; number < blocks.end; ++number) {
    const TileBlock block = block_at(head, number);
    for (const SegmentPart& part : parts.at(block.position)) {
      for (int slot = block.begin; slot < block.end && !known(part.segment); ++slot) {
        const bool seen = (part.slots >> slot & 1) != 0 && head.visible(of_head, row, block.first_key + slot);
        if (seen) use(part.segment);
      }
    }
  }
}

// What streams over the keys, as it lies in a workspace.
struct Streams {
  SoftmaxState chunk, total;
  float* out;
  TopKeys top;
  OffsetScores offsets;
  SegmentSums segments, bins;

  Streams(const HeadSight& sight, TileState& work)
      : chunk(state_in(work.state, work.lanes)),
        total(state_in(work.state_total, work.lanes)),
        out(work.out.data()),
        top{sight.top_k, top_capacity(sight.top_k), work.topk_score.data(), work.topk_index.data(),
            sight.measures_values() ? work.topk_rank.data() : nullptr},
        offsets{sight.offsets, work.offset_score.data(), sight.measures_values() ? work.offset_length.data() : nullptr},
        segments{sight.segments, work.segment_sum.data(), work.segment_reference.data(), work.segment_total.data(),
                 &work.segments_seen},
        bins{static_cast<std::int32_t>(sight.overview_cols), work.bin_sum.data(), work.bin_reference.data(),
             work.bin_total.data(), &work.bins_seen} {}
};

class TilePass {
 public:
  TilePass(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace)
      : head_(head),
        sight_(sight),
        tile_(tile),
        lanes_(tile.lanes),
        work_(workspace),
        scores_(head, tile, workspace),
        positions_(head, tile, false),
        mine_(sight, workspace),
        plain_(mixes_directly(Sees::all) && !head.bias && !head.reshapes_scores() && !sight.measures_values()) {}

  // All keys of the problem, after those that a saved state has seen. `save` receives the state before it is finished.
  void run(const TileState* resume = nullptr, TileState* save = nullptr) {
    scores_.begin();
    begin();
    if (resume != nullptr) work_.copy(*resume);
    std::int64_t open = work_.open ? chunk_at(head_.key_position) : -1;  // not in the totals yet
    const BlockRange blocks = scores_.blocks();
    for (std::int64_t number = blocks.begin; number < blocks.end; ++number) {
      if (const std::int64_t chunk = number / kChunkBlocks; chunk != open) {
        if (open >= 0) merge_chunk(mine_);
        begin_chunk();
        open = chunk;
      }
      absorb(block_at(head_, number));
    }
    if (save != nullptr) open = save_state(open, *save);
    if (open >= 0) merge_chunk(mine_);
  }

  // One chunk, whose state stays in the workspace to be merged.
  void run_chunk(std::int64_t chunk) {
    scores_.begin();
    begin();
    begin_chunk();
    const BlockRange blocks = scores_.blocks();
    const std::int64_t end = std::min((chunk + 1) * kChunkBlocks, blocks.end);
    for (std::int64_t number = std::max(chunk * kChunkBlocks, blocks.begin); number < end; ++number) {
      absorb(block_at(head_, number));
    }
  }

  // Merges the states of chunks, ascending.
  void merge(std::span<TileState* const> chunks) {
    begin();
    for (TileState* chunk : chunks) {
      const Streams theirs(sight_, *chunk);
      merge_chunk(theirs);
      if (mine_.top.k > 0) mine_.top.merge(lanes_, theirs.top);
      mine_.offsets.merge(lanes_, theirs.offsets);
    }
  }

  // The keys of two saved states as one. What `other` saw becomes a chunk of its own.
  void merge_states(const TileState& other, TileState& state) {
    work_.copy(other);
    if (work_.open) merge_chunk(mine_);
    TileState& chunk = work_;
    std::copy(chunk.state_total.begin(), chunk.state_total.end(), chunk.state.begin());
    std::copy(chunk.out_total.begin(), chunk.out_total.end(), chunk.out.begin());
    std::copy(chunk.segment_total.begin(), chunk.segment_total.end(), chunk.segment_sum.begin());
    for (std::int32_t s = 0; s < sight_.segments; ++s) {
      std::copy_n(mine_.chunk.m, lanes_, chunk.segment_reference.data() + static_cast<std::ptrdiff_t>(s) * lanes_);
    }
    const Streams into(sight_, state), theirs(sight_, work_);
    if (state.open) merge_into(into, into, state);
    merge_into(into, theirs, state);
    if (into.top.k > 0) into.top.merge(lanes_, theirs.top);
    into.offsets.merge(lanes_, theirs.offsets);
    for (std::size_t i = 0; i < state.segment_marks.size(); ++i) state.segment_marks[i] |= other.segment_marks[i];
    state.open = false;
  }

 private:
  static std::int64_t chunk_at(std::int64_t position) { return position / kChunkKeys; }

  // A chunk that the next keys belong to stays open. Returns the chunk that is still to be merged, or -1.
  std::int64_t save_state(std::int64_t open, TileState& save) {
    const std::int64_t end = head_.key_position + head_.keys;
    if (open >= 0 && (open != chunk_at(end) || end % kChunkKeys == 0)) {
      merge_chunk(mine_);
      open = -1;
    }
    if (open < 0) begin_chunk();
    work_.open = open >= 0;
    for (int lane = tile_.live_begin; sight_.segments > 0 && lane < tile_.live_end; ++lane) mark_segments(lane);
    save.copy(work_);
    return open;
  }

  // Notes of which segments the row saw a key: should it become a row of NaN, only those are NaN, and a later pass has
  // these keys no more. A sum says so, unless it is 0 or all are NaN.
  void mark_segments(int lane) {
    std::uint8_t* marks = work_.segment_marks.data() + lane;
    const float l = mine_.chunk.l[lane] + mine_.total.l[lane];
    for (std::int32_t s = 0; l == l && s < *mine_.segments.seen; ++s) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(s) * lanes_;
      if (mine_.segments.sum[at + lane] != 0 || mine_.segments.total[at + lane] != 0) marks[at] = 1;
    }
    const auto mark = [&](std::int32_t segment) -> std::uint8_t& {
      return marks[static_cast<std::ptrdiff_t>(segment) * lanes_];
    };
    for_each_seen_segment(
        head_, tile_, lane, *sight_.segment_parts, [&](std::int32_t segment) { return mark(segment) != 0; },
        [&](std::int32_t segment) { mark(segment) = 1; });
  }

  void begin() {
    work_.open = false;
    mine_.total.clear(lanes_);
    if (sight_.out) std::fill_n(work_.out_total.data(), output_size(), 0.0f);
    mine_.top.begin(lanes_);
    mine_.offsets.begin(lanes_);
    mine_.segments.begin(lanes_);
    std::fill(work_.segment_marks.begin(), work_.segment_marks.end(), std::uint8_t{0});
    mine_.bins.begin(lanes_);
    work_.strip.blocks.clear();
  }

  // Of few rows without the lanes that hold none.
  std::int64_t output_size() const { return head_.value_width * (scores_.few() ? tile_.live_end : lanes_); }

  void begin_chunk() {
    mine_.chunk.clear(lanes_);
    if (sight_.out) std::fill_n(work_.out.data(), output_size(), 0.0f);
    mine_.segments.begin_chunk(lanes_);
    mine_.bins.begin_chunk(lanes_);
  }

  void absorb(TileBlock block) {
    const Sees sees = scores_.prepare(block);
    if (sees == Sees::nothing) return;
#if HWY_TARGET != HWY_SCALAR
    if (plain_ && sees == Sees::all) return absorb_few(block);
#endif
    score(block, sees);
    if ((sight_.out && head_.fast == nullptr && !mixes_directly(sees)) || sight_.measures_values()) read_values(block);
    block.scores = work_.scores.data();
    // Scores become weights in place: who needs scores comes first.
    observe_scores(block);
    float* weights = weights_of_block();
    block.weights = weights;
    weigh_block(block, weights);
    observe_weights(block);
    if (sight_.out) mix(block, sees);
    if (sight_.wants_mass()) keep(block);
  }

#if HWY_TARGET != HWY_SCALAR
  // As absorb(), for few rows that see the whole block: scores and weights stay rows, and are spread to a tile where an
  // observation wants to look.
  void absorb_few(TileBlock block) {
    float* scores = scores_.few_scores(block);
    alignas(64) float maxima[kChains];
    std::fill_n(maxima, kChains, -__builtin_inff());
    for (int row = 0; row < tile_.live_end; ++row) maxima[row] = largest_of_row(scores + row * kBlockKeys);
    float* tile = work_.scores.data();
    block.scores = block.weights = tile;
    const bool ranks = mine_.top.k > 0 && mine_.top.wants(lanes_, tile_.live_end, maxima);
    const bool picks = mine_.offsets.reach(block, positions_.least(), positions_.most());
    if (ranks || picks) spread_rows(scores, 0, tile_.live_end, tile);
    if (ranks) mine_.top.absorb(block, lanes_, tile, maxima);
    if (picks) pick_offsets(block);
    const FewScores few = {block.position, scores, tile_.live_end, maxima, tile, wants_weights(block)};
    with_moments([&](auto with_entropy, auto with_position) HWY_ATTR {
      absorb_few_rows<with_entropy(), with_position()>(mine_.chunk, few, block_result(), distances());
    });
    observe_weights(block);
    if (sight_.out) mix_directly(block, scores, 1, kBlockKeys);
    if (sight_.wants_mass()) std::copy_n(scores, tile_.live_end * kBlockKeys, keep_place(block));
  }

  // Whether an observation looks at single weights of a block that all rows see.
  bool wants_weights(const TileBlock& block) const {
    const bool beside = positions_.most() <= block.position || positions_.least() >= block.position + kBlockKeys - 1;
    return (sight_.distance != nullptr && !beside) ||
           (mine_.segments.segments > 0 && SegmentSums::splits(block, *sight_.segment_parts)) ||
           (mine_.bins.segments > 0 && SegmentSums::splits(block, *sight_.bin_parts));
  }
#endif

  void score(const TileBlock& block, Sees sees) {
    if (!sight_.wants_mass()) return scores_.compute(block, sees, Stage::biased);
    // Its place is taken by the weights of this block.
    WaitingBlock waiting(work_, lanes_);
    scores_.compute(block, sees, Stage::biased, waiting);
    waiting.finish();
  }

  void read_values(const TileBlock& block) {
    values_.set(head_.v, head_.value_width, head_.keys, block, work_.zeros.data(), work_.widened_values.data());
    if (sight_.measures_values()) value_lengths(values_.data(), head_.value_width, block, lengths_);
  }

  // Whether values are mixed as they lie. Where some are hidden or dropped they are looked at first.
  bool mixes_directly([[maybe_unused]] Sees sees) const {
#if HWY_TARGET != HWY_SCALAR
    return sees == Sees::all && !head_.keep && head_.fast == nullptr && scores_.few() &&
           reads_as_it_lies(head_.v, head_.value_width);
#else
    return false;
#endif
  }

  void observe_scores(const TileBlock& block) {
    float* block_max = work_.lane_array(TileWorkspace::kBlockMax);
    if (mine_.top.k > 0 && sight_.measures_values()) {
      alignas(64) float maxima[kTileRows];
      rank_by_length(block.scores, lengths_, lanes_, work_.ranks.data(), maxima);
      mine_.top.absorb(block, lanes_, work_.ranks.data(), maxima);
    } else if (mine_.top.k > 0) {
      mine_.top.absorb(block, lanes_, block.scores, block_max);
    }
    pick_offsets(block);
  }

  void pick_offsets(const TileBlock& block) {
    mine_.offsets.absorb(
        block, lanes_, positions_.least(), positions_.most(), [&](int lane) { return positions_.of(lane); }, lengths_);
  }

  // Weights that are summed over the rows later are written where they are kept; those of stacked rows are few, and
  // kept without the lanes that hold no row.
  float* weights_of_block() {
    if (!sight_.wants_mass() || tile_.stacked > 0) return work_.scores.data();
    return work_.strip_weights(work_.strip.blocks.size());
  }

  void keep(const TileBlock& block) {
    float* to = keep_place(block);
    if (tile_.stacked > 0) turn_weights(block.weights, lanes_, tile_.live_end, to);
  }

  // Where the block's weights are kept.
  float* keep_place(const TileBlock& block) {
    const std::size_t index = work_.strip.blocks.size();
    std::copy_n(mine_.chunk.m, lanes_, work_.strip_max(index));
    work_.strip.blocks.push_back(block);
    return work_.strip_weights(index);
  }

  BlockResult block_result() {
    return {work_.lane_array(TileWorkspace::kRescale), work_.lane_array(TileWorkspace::kBlockSum)};
  }

  // use(whether entropy is asked for, whether positions are).
  template <class Use>
  void with_moments(const Use& use) const {
    const bool position = sight_.position != nullptr || sight_.distance != nullptr;
    if (sight_.wants_entropy() && position) return use(std::true_type(), std::true_type());
    if (sight_.wants_entropy()) return use(std::true_type(), std::false_type());
    if (position) return use(std::false_type(), std::true_type());
    use(std::false_type(), std::false_type());
  }

  const LanePositions* distances() const { return sight_.distance != nullptr ? &positions_ : nullptr; }

  void weigh_block(const TileBlock& block, float* weights) {
    const float* block_max = work_.lane_array(TileWorkspace::kBlockMax);
    with_moments([&](auto with_entropy, auto with_position) HWY_ATTR {
      absorb_block<with_entropy(), with_position()>(mine_.chunk, block, weights, lanes_, block_max, block_result(),
                                                    distances());
    });
  }

  void observe_weights(const TileBlock& block) {
    if (mine_.segments.segments == 0 && mine_.bins.segments == 0) return;
    const float* weights = block.weights;
    const float* block_sum = block_result().sum;
    if (sight_.measures_values()) {
      measure_weights(weights, lengths_, lanes_, work_.measured.data());
      weights = work_.measured.data();
      block_sum = nullptr;
    }
    const float* max = mine_.chunk.m;
    if (mine_.segments.segments > 0)
      mine_.segments.absorb(block, *sight_.segment_parts, lanes_, weights, block_sum, max);
    if (mine_.bins.segments > 0) mine_.bins.absorb(block, *sight_.bin_parts, lanes_, weights, block_sum, max);
  }

  void mix(const TileBlock& whole, Sees sees) {
    const TileBlock block = scores_.mask().narrowed(whole);  // beyond it all weights are 0
    const float* weights = block.weights;
    if (head_.keep) {
      drop(block);
      weights = work_.kept.data();
    }
    if (head_.fast != nullptr) return mix_fast(block, weights, sees);
    if (mixes_directly(sees)) return mix_directly(block, weights, kChains, 1);
    const bool selective =
        (sees == Sees::part || head_.keep) && !all_finite(values_.data(), head_.value_width, block.begin, block.end);
    if (selective) return mix_selectively(block, weights, sees);
    const float* rescale = block_result().rescale;
#if HWY_TARGET != HWY_SCALAR
    if (scores_.few()) {
      return mix_few_rows<RowElements<DType::f32>>(PointedRows{values_.data()}, few_mix(block, weights, kChains, 1));
    }
#endif
    with_vectors(lanes_, [&](auto vectors) HWY_ATTR {
      mix_block<vectors()>(values_.data(), head_.value_width, block.begin, block.end, weights, rescale, lanes_,
                           work_.out.data());
    });
  }

#if HWY_TARGET != HWY_SCALAR
  FewMix few_mix(const TileBlock& block, const float* weights, int slot_stride, int row_stride) {
    return {head_.value_width,
            block.begin,
            block.end,
            weights,
            slot_stride,
            row_stride,
            block_result().rescale,
            tile_.live_end,
            work_.out.data(),
            work_.value_rows.data()};
  }
#endif

  void mix_directly([[maybe_unused]] const TileBlock& block, [[maybe_unused]] const float* weights,
                    [[maybe_unused]] int slot_stride, [[maybe_unused]] int row_stride) {
#if HWY_TARGET != HWY_SCALAR
    const SourceRows values{head_.v, head_.keys, block.first_key, work_.zeros.data()};
    with_elements(head_.v.dtype, [&](auto elements) HWY_ATTR {
      mix_few_rows<decltype(elements)>(values, few_mix(block, weights, slot_stride, row_stride));
    });
#endif
  }

  // [kBlockKeys, lanes], 0 where a weight is mixed.
  void show_mixed(const TileBlock& block, Sees sees, float* shown) const {
    if (sees == Sees::part) {
      scores_.mask().show(block, shown);
    } else {
      std::fill_n(shown, kBlockKeys * lanes_, 0.0f);
    }
    if (head_.keep) {
      for (int i = 0; i < kBlockKeys * lanes_; ++i) shown[i] = kept_[i % lanes_] >> (i / lanes_) & 1 ? shown[i] : 1;
    }
  }

  void mix_fast(const TileBlock& block, const float* weights, Sees sees) {
    const bool few = scores_.few();
    rounded_values_.set(*head_.fast, head_.v, head_.value_width, head_.keys, block, work_.zeros.data(),
                        {work_.widened_values.data(), work_.rounded_values.data()}, few);
    const float* rescale = block_result().rescale;
    if (HWY_NAMESPACE::mix_fast(head_, tile_, block, few, rounded_values_, weights, rescale, work_)) return;
    alignas(64) float shown[kBlockKeys * kTileRows];
    show_mixed(block, sees, shown);
    mix_unbounded(head_, tile_, block, few, rounded_values_, weights, shown, work_.out.data());
  }

  void mix_selectively(const TileBlock& block, const float* weights, Sees sees) {
    alignas(64) float shown[kBlockKeys * kTileRows];
    show_mixed(block, sees, shown);
    const float* rescale = block_result().rescale;
#if HWY_TARGET != HWY_SCALAR
    if (scores_.few()) {
      return mix_few_selectively(values_.data(), head_.value_width, block.begin, block.end, weights, rescale,
                                 tile_.live_end, shown, work_.out.data());
    }
#endif
    mix_block_selectively(values_.data(), head_.value_width, block.begin, block.end, weights, rescale, lanes_, shown,
                          work_.out.data());
  }

  // The weights that dropout keeps, scaled, and 0 for the others.
  void drop(const TileBlock& block) {
    kept_pairs(head_, tile_, block, kept_);
    for (int slot = block.begin; slot < block.end; ++slot) {
      for (int lane = 0; lane < lanes_; ++lane) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(slot) * lanes_ + lane;
        work_.kept.data()[at] = (kept_[lane] >> slot & 1) != 0 ? block.weights[at] * head_.keep_scale : 0.0f;
      }
    }
  }

  void merge_chunk(const Streams& from) { merge_into(mine_, from, work_); }

  // The totals of `into`, whose buffers are `state`, take in a chunk of theirs or of another workspace.
  void merge_into(const Streams& into, const Streams& from, TileState& state) {
    float* factor_total = work_.lane_array(TileWorkspace::kRescale);
    float* factor_chunk = work_.lane_array(TileWorkspace::kBlockSum);
    merge_state(into.total, from.chunk, lanes_, factor_total, factor_chunk);
    into.segments.merge_chunk(lanes_, from.segments, from.chunk.m, factor_total, factor_chunk);
    into.bins.merge_chunk(lanes_, from.bins, from.chunk.m, factor_total, factor_chunk);
    if (!sight_.out) return;
#if HWY_TARGET != HWY_SCALAR
    if (scores_.few()) {
      return merge_few_rows(state.out_total.data(), from.out, head_.value_width, tile_.live_end, factor_total,
                            factor_chunk);
    }
#endif
    merge_output(state.out_total.data(), from.out, head_.value_width, lanes_, factor_total, factor_chunk);
  }

  const HeadProblem& head_;
  const HeadSight& sight_;
  const TileRows& tile_;
  const int lanes_;
  TileWorkspace& work_;
  TileScores scores_;
  const LanePositions positions_;
  const Streams mine_;
  const bool plain_;  // whole blocks take absorb_few()
  RowPointers values_;
  Bf16Rows rounded_values_;
  alignas(64) float lengths_[kBlockKeys];  // of the block's values
  std::uint64_t kept_[kTileRows];          // by lane the slots that dropout keeps
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_TILE_PASS_INL_H_
