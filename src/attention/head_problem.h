#ifndef SIGHTLINE_ATTENTION_HEAD_PROBLEM_H_
#define SIGHTLINE_ATTENTION_HEAD_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <vector>

#include "src/attention/cut_set.h"
#include "src/attention/fast.h"
#include "src/attention/geometry.h"
#include "src/attention/relative_table.h"
#include "src/attention/row_source.h"
#include "src/attention/tree.h"
#include "src/observe/tile_block.h"

namespace sightline {

/// The score of a key that a row does not see.
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

/// A matrix of a type known at run time, one for each head; strides in elements.
struct HeadMatrix {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t head_stride = 0, row_stride = 0, column_stride = 0;

  explicit operator bool() const { return data != nullptr; }
  const std::byte* at(std::int64_t head, std::int64_t row, std::int64_t column) const;
  bool flag(std::int64_t head, std::int64_t row, std::int64_t column) const;     // of booleans
  float number(std::int64_t head, std::int64_t row, std::int64_t column) const;  // of f32, f16 and bf16
};

/// Keys [begin, end) of the tensor.
struct KeyInterval {
  std::int64_t begin = 0, end = 0;
};

/// Blocks of kBlockKeys positions, numbered from position 0.
struct BlockRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};

/// Query heads of one sequence that share a key/value head: everything that a tile of their rows reads. Heads are
/// counted from the first of them.
struct HeadProblem {
  std::int64_t heads = 1;
  std::int64_t batch = 0, first_head = 0;  // of the tensors (packed: the sequence), as a caller's function is told
  RowSource q;                             // of the first head
  std::int64_t q_head_stride = 0;          // bytes
  RowSource k, v;
  std::int64_t rows = 0, keys = 0, width = 0, value_width = 0;
  float scale = 0, softcap = 0;
  bool causal = false;
  std::int64_t window_left = -1, window_right = -1;
  std::int64_t key_position = 0, query_position = 0;
  std::int64_t index_origin = 0;  // what key 0 is reported as
  HeadMatrix mask, bias, keep;    // [heads, rows, keys] or null; strides 0 where broadcast
  float keep_scale = 1;
  const float* alibi_slopes = nullptr;      // [heads] or null
  const float* sinks = nullptr;             // [heads] or null
  const float* head_scale = nullptr;        // [heads] or null
  const RelativeTable* relative = nullptr;  // [heads] or null
  const BlockMask* block_mask = nullptr;
  std::int64_t block_mask_row = 0, block_mask_head_stride = 0;  // block rows: of the first head, from head to head
  const CutSet* cuts = nullptr;
  const Tree* tree = nullptr;
  const ScoreFunction* score_function = nullptr;
  const MaskFunction* mask_function = nullptr;
  const FastProducts* fast = nullptr;  // of Precision::fast

  /// Keys that stand before position 0 are padding, and hidden.
  std::int64_t first_key() const { return std::max<std::int64_t>(0, -key_position); }
  /// Where a row stands in the sequence.
  std::int64_t row_position(std::int64_t row) const {
    return query_position + (tree != nullptr ? tree->depth(row) : row);
  }
  /// Where a key stands, for windows and biases of distance.
  std::int64_t position_of_key(std::int64_t key) const {
    const std::int64_t node = key - (keys - rows);
    return tree != nullptr && node >= 0 ? query_position + tree->depth(node) : key_position + key;
  }
  /// Keys that the row's position lets it see, ascending with the row at both ends but for trees; what follows may hide
  /// more.
  KeyInterval interval(std::int64_t row) const;
  /// Keys outside of which no row of the tile sees any by its position.
  KeyInterval interval(const TileRows& tile) const;
  /// Of a row and a key of a problem with a tree.
  bool in_tree(std::int64_t row, std::int64_t key) const;
  /// The row's block row in the block mask.
  std::int64_t block_line(std::int64_t head, std::int64_t row) const;
  /// The block of a block row in that column; null where it is hidden.
  const BlockMask::Entry* block_entry(std::int64_t line, std::int64_t column) const;
  /// Which of a block's 64 keys a row of its block row sees: bit s for key 64 column + s. Of null none.
  std::uint64_t block_bits(const BlockMask::Entry* entry, std::int64_t row) const;
  /// The blocks that hold keys, or some of them.
  BlockRange blocks() const { return blocks({0, keys}); }
  BlockRange blocks(KeyInterval of) const {
    of.begin = std::max(of.begin, first_key());
    if (of.begin >= of.end) return {};
    return {(key_position + of.begin) / kBlockKeys, (key_position + of.end - 1) / kBlockKeys + 1};
  }
  /// Whether something else than position hides keys pair by pair, or is added pair by pair from memory.
  bool additive() const { return mask || bias || block_mask != nullptr || cuts != nullptr || tree != nullptr; }
  /// Whether scores are changed before they are masked.
  bool reshapes_scores() const {
    return softcap > 0 || alibi_slopes != nullptr || relative != nullptr || score_function != nullptr;
  }
  /// Whether the row of the head sees the key, for the rare places that go key by key.
  bool visible(std::int64_t head, std::int64_t row, std::int64_t key) const;
};

/// One head of a tensor of [batch, heads, rows, width], from `row` on.
RowSource rows_of(const TensorView& tensor, std::int64_t batch, std::int64_t head, std::int64_t row);

/// What a problem's heads share that must be made before they run.
struct ProblemTables {
  std::pmr::vector<RelativeTable> relative;  // [query heads] or empty
  std::pmr::vector<Tree> trees;              // one for all, or one a sequence
  std::optional<CutSet> cuts;
  const FastProducts* fast = nullptr;  // of Precision::fast

  ProblemTables(const AttentionProblem& problem, const Geometry& geometry, std::pmr::memory_resource* memory);
};

/// `heads` query heads of a sequence from `head` on, all of one key/value head. `tables` must outlive the result.
HeadProblem head_problem(const AttentionProblem& problem, const Geometry& geometry, const ProblemTables& tables,
                         std::size_t sequence, std::int64_t head, std::int64_t heads);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_HEAD_PROBLEM_H_
