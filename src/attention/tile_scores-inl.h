// Scores of one tile of rows against one block of keys, up to any stage: what the pass, tile() and the backward pass
// share, so that all have the same bits.

#if defined(SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_
#undef SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_
#else
#define SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_
#endif

#include <algorithm>

#include "src/attention/fast_rows-inl.h"
#include "src/attention/few_rows-inl.h"
#include "src/attention/few_softmax-inl.h"
#include "src/attention/head_problem.h"
#include "src/attention/rows-inl.h"
#include "src/attention/score-inl.h"
#include "src/attention/score_terms-inl.h"
#include "src/attention/tile_mask-inl.h"
#include "src/attention/tile_workspace.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

inline TileBlock block_at(const HeadProblem& head, std::int64_t number) {
  TileBlock block;
  block.position = number * kBlockKeys;
  block.first_key = block.position - head.key_position;
  block.first_index = block.first_key + head.index_origin;
  block.begin = static_cast<int>(std::max<std::int64_t>(0, -block.first_key));
  block.end = static_cast<int>(std::min<std::int64_t>(kBlockKeys, head.keys - block.first_key));
  return block;
}

// Row `lane` of a tile's queries as fp32, where it lies or in `widened`.
inline const float* query_row(const HeadProblem& head, const TileRows& tile, int lane, float* widened) {
  RowSource source = head.q;
  source.data += tile.head(lane) * head.q_head_stride;
  if (source.in_place()) return reinterpret_cast<const float*>(source.row(tile.row(lane)));
  widen(source, tile.row(lane), head.width, widened);
  return widened;
}

// A tile's queries with rows in lanes, [width, lanes].
inline void pack_queries(const HeadProblem& head, const TileRows& tile, TileWorkspace& work) {
  float* queries = work.queries.data();
  for (int first = 0; first < tile.lanes; first += kTurned) {
    const float* rows[kTurned];
    for (int i = 0; i < kTurned; ++i) {
      rows[i] = query_row(head, tile, first + i, work.query_rows.data() + i * head.width);
    }
    turn_rows(rows, head.width, tile.lanes, queries + first);
  }
}

// The few rows of a tile, [live lanes, width].
inline void copy_queries(const HeadProblem& head, const TileRows& tile, float* queries) {
  for (int lane = 0; lane < tile.live_end; ++lane) {
    float* to = queries + lane * head.width;
    const float* row = query_row(head, tile, lane, to);
    if (row != to) std::copy_n(row, head.width, to);
  }
}

class TileScores {
 public:
  TileScores(const HeadProblem& head, const TileRows& tile, TileWorkspace& work)
      : head_(head),
        tile_(tile),
        work_(work),
        few_(few_rows(head, tile)),
        mask_(head, tile, work.bias.data()),
        terms_(head, tile, work.bias.data()) {}

  // To be called before blocks are.
  void begin() {
    if (few_) std::fill_n(work_.scores.data(), kBlockKeys * tile_.lanes, 0.0f);  // lanes without a row
    if (head_.fast != nullptr) return pair_queries(head_, tile_, work_);
    if (!few_) return pack_queries(head_, tile_, work_);
    copy_queries(head_, tile_, work_.queries.data());
  }

  const TileMask& mask() const { return mask_; }
  bool few() const { return few_; }
  BlockRange blocks() const { return mask_.blocks(); }
  Sees prepare(const TileBlock& block) { return mask_.prepare(block); }

#if HWY_TARGET != HWY_SCALAR
  // Of few rows: scale * dot of a block, [rows, kBlockKeys], in memory that the caller may use up.
  float* few_scores(const TileBlock& block) {
    const std::int64_t index = (block.first_key - run_begin_) / kBlockKeys;
    if (block.first_key < run_begin_ || index >= run_count_) score_run(block);
    return work_.run_sums.data() + (block.first_key - run_begin_) * tile_.live_end;
  }
#endif

  // Scores of a block that was prepared, into workspace.scores, up to a stage; at Stage::biased hidden ones are -inf,
  // and the largest of each lane goes to kBlockMax. Slots without a key hold -inf then, and before it anything.
  void compute(const TileBlock& block, Sees sees, Stage stage) { compute(block, sees, stage, kNothingBeside); }

  // beside: what may be done meanwhile, step by step; see score_rows().
  template <class Beside>
  void compute(const TileBlock& block, Sees sees, Stage stage, Beside& beside) {
    float* scores = work_.scores.data();
    float* block_max = work_.lane_array(TileWorkspace::kBlockMax);
    // Keys at the block's ends that no row sees are masked away unscored.
    const TileBlock used = stage == Stage::biased ? mask_.narrowed(block) : block;
    raw(used, scores, block_max, beside);
    if (stage == Stage::raw) return;
    terms_.cap(used, scores);
    if (stage == Stage::capped) return;
    terms_.add(used, scores);
    if (sees == Sees::part) {
      mask_.apply(block, scores, block_max);
    } else if (few_ || head_.bias || head_.reshapes_scores()) {
      take_maxima(scores, block_max);
    }
  }

 private:
  // scale * dot.
  template <class Beside>
  void raw(const TileBlock& block, float* scores, float* block_max, Beside& beside) {
    float* widened = work_.widened_keys.data();
    if (head_.fast != nullptr) {
      rounded_keys_.set(*head_.fast, head_.k, head_.width, head_.keys, block, work_.zeros.data(),
                        {widened, work_.rounded_keys.data()}, few_);
      return score_fast(head_, tile_, block, few_, rounded_keys_, work_, block_max);
    }
#if HWY_TARGET != HWY_SCALAR
    if (few_) return spread_rows(few_scores(block), 0, tile_.live_end, scores);
#endif
    keys_.set(head_.k, head_.width, head_.keys, block, work_.zeros.data(), widened);
    with_vectors(tile_.lanes, [&](auto vectors) HWY_ATTR {
      score_block<vectors()>(keys_.data(), work_.queries.data(), head_.width, tile_.lanes, head_.scale, block.begin,
                             block.end, scores, block_max, beside);
    });
  }

#if HWY_TARGET != HWY_SCALAR
  // Scores of the block, and of those after it that are sure to be asked for; [blocks, rows, kBlockKeys].
  void score_run(const TileBlock& first) {
    run_begin_ = first.first_key;
    run_count_ = 1;
    const std::int64_t number = first.position / kBlockKeys,
                       end = std::min(number / kRunBlocks * kRunBlocks + kRunBlocks, blocks().end);
    if (!reads_as_it_lies(head_.k, head_.width)) {
      keys_.set(head_.k, head_.width, head_.keys, first, work_.zeros.data(), work_.widened_keys.data());
      score_few_rows<RowElements<DType::f32>, 0>(PointedRows{keys_.data()}, work_.queries.data(), head_.width,
                                                 tile_.live_end, head_.width * static_cast<std::int64_t>(sizeof(float)),
                                                 work_.run_sums.data());
      return scale_run();
    }
    while (number + run_count_ < end && mask_.shows_whole(block_at(head_, number + run_count_))) ++run_count_;
    with_elements(head_.k.dtype, [&](auto elements) HWY_ATTR {
      using Elements = decltype(elements);
      const auto bytes = static_cast<std::int64_t>(row_bytes(head_.k.dtype, head_.width));
      for (std::int64_t i = 0; i < run_count_; ++i) {
        score_few_rows<Elements>(SourceRows{head_.k, head_.keys, run_begin_ + i * kBlockKeys, work_.zeros.data()},
                                 work_.queries.data(), head_.width, tile_.live_end, bytes,
                                 work_.run_sums.data() + i * tile_.live_end * kBlockKeys);
      }
    });
    scale_run();
  }

  void scale_run() {
    float* scores = work_.run_sums.data();
    for (std::int64_t i = 0; i < run_count_ * tile_.live_end * kBlockKeys; i += kLanes) {
      store(hn::Mul(load(scores + i), splat(head_.scale)), scores + i);
    }
  }
#endif

  // The largest score of each lane of a whole block.
  void take_maxima(const float* scores, float* block_max) const {
    for (int lane = 0; lane < tile_.lanes; lane += static_cast<int>(kLanes)) {
      F maximum = splat(-__builtin_inff());
      for (int slot = 0; slot < kBlockKeys; ++slot) {
        maximum = max_or_second(load(scores + static_cast<std::ptrdiff_t>(slot) * tile_.lanes + lane), maximum);
      }
      store(maximum, block_max + lane);
    }
  }

  const HeadProblem& head_;
  const TileRows& tile_;
  TileWorkspace& work_;
  const bool few_;
  TileMask mask_;
  const ScoreTerms terms_;
  RowPointers keys_;
  Bf16Rows rounded_keys_;
#if HWY_TARGET != HWY_SCALAR
  std::int64_t run_begin_ = 0, run_count_ = 0;  // key, blocks
#endif
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_
