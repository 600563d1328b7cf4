#ifndef SIGHTLINE_MASK_H_
#define SIGHTLINE_MASK_H_

#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace sightline {

/// Edges that are taken out of the map, to see what is missed: the rows listed do not see the keys listed, in the heads
/// listed. An empty list means all. Indexes of the tensors (of the sequence, where sequences are packed).
struct EdgeCut {
  std::int64_t batch = -1;  ///< sequence; -1: all
  std::span<const std::int64_t> heads = {};
  std::span<const std::int64_t> rows = {};
  std::span<const std::int64_t> keys = {};
};

/// A map of blocks of 64 rows x 64 keys, counted from the tensors' first row and key, in compressed rows: of block row
/// r of plane p the blocks entries[row_begin[p * rows + r]] to entries[row_begin[p * rows + r + 1] - 1] are seen, those
/// not listed are hidden. Planes are [batch, heads], each 1 (shared by all) or full.
struct BlockMask {
  static constexpr int kBlock = 64;
  /// One block: all of it, or the pairs whose bit is set.
  struct Entry {
    std::int32_t column = 0;  ///< keys [64 column, 64 column + 64); ascending within a block row
    std::int32_t bits = -1;   ///< -1: the whole block; else bits[64 * this + row % 64], bit s for key 64 column + s
  };

  std::int64_t batch = 1, heads = 1;
  std::span<const std::int64_t> row_begin = {};  ///< [batch * heads * ceil(Nq / 64) + 1]; empty: no block mask
  std::span<const Entry> entries = {};
  std::span<const std::uint64_t> bits = {};

  explicit operator bool() const { return !row_begin.empty(); }
};

/// A learned bias for each bucket of distances between query and key, by head (Raffel et al. 2020, T5): half of the
/// buckets hold one distance each, the others ever longer ranges up to max_distance, and the last one everything
/// beyond.
struct RelativeBias {
  std::span<const float> table = {};  ///< [buckets, Hq]; empty: none
  std::int64_t buckets = 32;          ///< 2 to 4096; with `bidirectional` even, at least 4
  std::int64_t max_distance = 128;    ///< above the buckets of one distance each; at most 2^16
  bool bidirectional = true;          ///< half of the buckets for keys after the query; otherwise those share bucket 0

  explicit operator bool() const { return !table.empty(); }
};

/// The bucket of a key that stands `offset` = key position - query position away. Throws BadArgument for sizes that no
/// problem may have; the table is not read.
std::int64_t relative_bucket(const RelativeBias& bias, std::int64_t offset);

/// A rectangle of scores that a caller's function works on: scores[row * row_stride + key * key_stride] for row < rows,
/// key < keys. One of the strides is 1.
struct ScoreTile {
  float* scores = nullptr;
  std::int64_t row_stride = 0, key_stride = 0;
  std::int64_t rows = 0, keys = 0;
  std::int64_t batch = 0, head = 0;
  std::int64_t first_row = 0, first_key = 0;        ///< indexes of the tensors (packed: of the sequence)
  std::int64_t row_position = 0, key_position = 0;  ///< where those stand in the sequence
};

/// One pair of query and key, as functions of the caller's see it.
struct ScorePair {
  std::int64_t batch, head;
  std::int64_t row, key;  ///< indexes
  std::int64_t row_position, key_position;
};

/// Changes scores. A score of -inf is a weight of 0, but hides nothing: that is what masks do. Called from any thread,
/// and for keys that a mask then hides; what it throws is rethrown by the entry point. Results must not depend on how
/// the map is cut into tiles.
class ScoreFunction {
 public:
  virtual ~ScoreFunction() = default;
  virtual void apply(const ScoreTile& tile) const = 0;
};

/// What a mask shows of a rectangle.
enum class Sees : std::uint8_t { nothing, part, all };

/// Hides keys. Called from any thread.
class MaskFunction {
 public:
  virtual ~MaskFunction() = default;
  /// `nothing` lets the kernel skip the rectangle, `all` the call of hide(); `part` is always right. tile.scores is
  /// null.
  virtual Sees summary(const ScoreTile& tile) const = 0;
  /// Sets the scores of hidden pairs to -inf.
  virtual void hide(const ScoreTile& tile) const = 0;
};

namespace internal {

// Calls change(score, pair) for each pair, the contiguous axis innermost, so that the compiler can inline and
// vectorise.
template <class Change>
void for_each_pair(const ScoreTile& tile, const Change& change) {
  const auto at = [&](std::int64_t row, std::int64_t key) {
    change(tile.scores[row * tile.row_stride + key * tile.key_stride],
           ScorePair{tile.batch, tile.head, tile.first_row + row, tile.first_key + key, tile.row_position + row,
                     tile.key_position + key});
  };
  if (tile.row_stride == 1) {
    for (std::int64_t key = 0; key < tile.keys; ++key) {
      for (std::int64_t row = 0; row < tile.rows; ++row) at(row, key);
    }
  } else {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t key = 0; key < tile.keys; ++key) at(row, key);
    }
  }
}

}  // namespace internal

/// A ScoreFunction of a function object float(float score, const ScorePair&), inlined into the loop over a tile.
template <class Function>
class InlineScoreFunction final : public ScoreFunction {
 public:
  explicit InlineScoreFunction(Function function) : function_(std::move(function)) {}
  void apply(const ScoreTile& tile) const override {
    internal::for_each_pair(tile, [&](float& score, const ScorePair& pair) { score = function_(score, pair); });
  }

 private:
  Function function_;
};

/// A MaskFunction of a predicate bool(const ScorePair&), true = attend, and of a summary Sees(const ScoreTile&).
template <class Predicate, class Summary>
class InlineMaskFunction final : public MaskFunction {
 public:
  InlineMaskFunction(Predicate sees, Summary summary) : sees_(std::move(sees)), summary_(std::move(summary)) {}
  Sees summary(const ScoreTile& tile) const override { return summary_(tile); }
  void hide(const ScoreTile& tile) const override {
    internal::for_each_pair(tile, [&](float& score, const ScorePair& pair) {
      score = sees_(pair) ? score : -std::numeric_limits<float>::infinity();
    });
  }

 private:
  Predicate sees_;
  Summary summary_;
};

template <class Function>
InlineScoreFunction<Function> score_function(Function function) {
  return InlineScoreFunction<Function>(std::move(function));
}
template <class Predicate, class Summary>
InlineMaskFunction<Predicate, Summary> mask_function(Predicate sees, Summary summary) {
  return {std::move(sees), std::move(summary)};
}
/// Without a summary no block is skipped.
template <class Predicate>
auto mask_function(Predicate sees) {
  return mask_function(std::move(sees), [](const ScoreTile&) { return Sees::part; });
}

}  // namespace sightline

#endif  // SIGHTLINE_MASK_H_
