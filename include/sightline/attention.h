#ifndef SIGHTLINE_ATTENTION_H_
#define SIGHTLINE_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sightline/execution.h"
#include "sightline/mask.h"
#include "sightline/tensor.h"

namespace sightline {

/// Version of the order of floating-point operations. Two builds with the same version give the same bits for the same
/// fp32 problem, whatever the SIMD target, the thread count or the batch. See docs/attention.md.
inline constexpr int kArithmeticVersion = 1;

/// How causality, windows and ALiBi line queries up with keys.
enum class Alignment : std::uint8_t {
  top_left,      ///< query i stands at key i
  bottom_right,  ///< the last query stands at the last key: query i at key i + Nk - Nq (what a KV cache means)
};

/// One sequence of the batch. Positions are absolute within the sequence; they decide causality, windows and ALiBi, and
/// keys are summed in blocks counted from position 0.
struct SequenceSpan {
  std::int64_t key_count = -1;    ///< keys in use, the first ones of the tensor; -1: all Nk
  std::int64_t key_position = 0;  ///< position of key 0; below 0 (left padding), keys before position 0 are hidden
  std::optional<std::int64_t> query_position = {};  ///< position of query 0; by default the alignment decides
};

/// Keys and values that lie in pages of a pool, as caches keep them (Kwon et al. 2023). Key j of sequence b lies in
/// slot j % page_size of page table[b * table_stride + j / page_size]; `data` of k and v is then the pool, strides[0]
/// is not read, and heads, slots and columns are apart by strides[1], [2], [3] within a page.
struct PageTable {
  const std::int32_t* table = nullptr;  ///< [B, table_stride] or null: k and v are tensors
  std::int64_t table_stride = 0;        ///< entries a sequence, at least ceil(keys in use / page_size)
  std::int64_t page_size = 0;           ///< keys a page
  std::int64_t page_count = 0;          ///< of the pool; entries in use lie below it
  std::int64_t k_page_stride = 0;       ///< elements from a page of k to the next (bytes for packed rows)
  std::int64_t v_page_stride = 0;

  explicit operator bool() const { return table != nullptr; }
};

/// A problem of scaled dot-product attention: softmax(scale * Q K^T, masked) V.
/// Query head h reads key/value head h / (Hq / Hkv). For one row the order is: dot, scale, softcap, bias, relative
/// bias, ALiBi, score function, mask, softmax (with the sink in the denominator), mix. It is validated once, at the
/// entry of each function below; what is not supported is refused with BadArgument naming it. Limits: widths 1 to 1024,
/// 2^30 queries or keys, 2^24 planes (B * Hq). Elements lie at addresses that their type may have (fp32: multiples of
/// 4).
///
/// Packed sequences: with cu_seqlens_q and cu_seqlens_k, B is 1 and the rows of q, and of k and v, are those of S
/// sequences one after the other, some of them perhaps empty. Each sequence is a problem of its own, with positions of
/// its own; `sequences` then has S entries, and key_count counts from the sequence's first key. With pages,
/// cu_seqlens_q alone packs the queries; arrays over keys are then [S, Hq, Nk]. Overviews of packed sequences are [S,
/// Hq, ...].
///
/// Trees of drafted tokens (speculative decoding): with tree_parents the last Nq keys in use are those of the Nq
/// queries, nodes of a forest. tree_parents[i] is the parent of node i, below i, or -1 for a root. A node sees every
/// key before the tree, its ancestors and itself. Node i stands at the position of the tree's first key plus its depth,
/// as query and as key, for windows, ALiBi and relative bias; `causal` is implied, and query_position may not be given.
/// Observed positions, distances and offsets count nodes one after the other.
struct AttentionProblem {
  TensorView q;  ///< [B, Hq, Nq, D] f32, f16 or bf16
  TensorView k;  ///< [B, Hkv, Nk, D] f32, f16 or bf16, or rows of i8_row or q4_1, whatever q is
  TensorView v;  ///< [B, Hkv, Nk, Dv] any of these, whatever k is
  PageTable pages = {};

  std::optional<float> scale = {};  ///< default 1/sqrt(D)
  bool causal = false;              ///< hide keys that stand after the query
  Alignment alignment = Alignment::bottom_right;
  std::int64_t window_left = -1;   ///< keys visible before the query's own position; -1: all
  std::int64_t window_right = -1;  ///< keys visible after it; -1: all
  float softcap = 0;               ///< c > 0: scores become c * tanh(score / c)

  TensorView mask;  ///< boolean, true = attend; every axis of [B, Hq, Nq, Nk] may have size 1 (broadcast)
  TensorView bias;  ///< f32, f16 or bf16, added to the score; broadcasts as `mask`; -inf hides, -FLT_MAX is a number

  std::span<const float> alibi_slopes = {};         ///< [Hq] or empty: score - slope * |query position - key position|
  RelativeBias relative_bias = {};                  ///< a learned number for each bucket of distances (T5)
  std::span<const float> sinks = {};                ///< [Hq] or empty: one more logit in the denominator
  std::span<const float> head_scale = {};           ///< [Hq] or empty: factor of each head's output; 0 knocks it out
  std::span<const EdgeCut> cuts = {};               ///< edges that are taken out of the map
  BlockMask block_mask = {};                        ///< blocks of 64 x 64 that are seen, in full or in part
  std::span<const std::int32_t> tree_parents = {};  ///< [Nq] or [B * Nq] or empty; see below
  const ScoreFunction* score_function = nullptr;    ///< the caller's own; see sightline/mask.h
  const MaskFunction* mask_function = nullptr;      ///< the caller's own; see sightline/mask.h
  TensorView keep;       ///< dropout: boolean, false = the weight is not mixed; broadcasts as `mask`
  float keep_scale = 1;  ///< factor of the weights that are mixed, 1 / (1 - dropout probability)

  std::span<const SequenceSpan> sequences = {};  ///< [B] (packed: [S]) or empty: every sequence whole, from position 0
  std::span<const std::int32_t> cu_seqlens_q = {};  ///< [S + 1], from 0 ascending to Nq: where sequences begin
  std::span<const std::int32_t> cu_seqlens_k = {};  ///< [S + 1], from 0 ascending to Nk
};

/// What is ranked and summed over keys.
enum class Measure : std::uint8_t {
  weight,        ///< w
  value_weight,  ///< w ||v||, the length of what the key adds to the output (Kobayashi et al. 2020); ranks in fp32 by
                 ///< score + ln ||v||, so that scores beyond some 1e7 hide the lengths
};

/// What to observe, and where to put it. A null pointer means: not asked for. All arrays are dense, row-major, and
/// owned by the caller. A row with no visible key has max and lse -inf, entropy, position, distance and every mass 0,
/// and an empty top-k (index -1, weight 0). A row that saw a NaN reports NaN, but for the weights of keys that it did
/// not see, and for the list of top keys, which a score of NaN does not enter.
struct Observations {
  float* row_max = nullptr;  ///< [B, Hq, Nq] largest visible score m; with row_sum the row state of `tile()`
  float* row_sum = nullptr;  ///< [B, Hq, Nq] l = sum of exp(score - m)
  float* lse = nullptr;      ///< [B, Hq, Nq] m + ln l
  float* entropy = nullptr;  ///< [B, Hq, Nq] -sum w ln w, nats
  float* position =
      nullptr;  ///< [B, Hq, Nq] sum w j / sum w, j the key's position in the sequence (a sink's weight is left out)
  float* distance = nullptr;           ///< [B, Hq, Nq] sum w |i - j| / sum w, in positions
  float* sink_weight = nullptr;        ///< [B, Hq, Nq] the weight of the head's sink (0 where the problem has none)
  float* entropy_with_sink = nullptr;  ///< [B, Hq, Nq] as entropy, the sink counted as a key

  /// What top-k ranks by, and what key_mass, segment_mass, offset_mass and the overview sum.
  Measure measure = Measure::weight;

  int top_k = 0;  ///< 1..64 when asked for
  std::int32_t* topk_index =
      nullptr;  ///< [B, Hq, Nq, top_k] key index in the tensor (packed: sequence), largest first, ties by lower index
  float* topk_weight = nullptr;  ///< [B, Hq, Nq, top_k] its weight, whatever the measure

  std::span<const std::int64_t> offsets = {};  ///< key position minus query position, e.g. -1, 0, 1
  float* offset_mass = nullptr;  ///< [B, Hq, Nq, offsets] the weight at each offset (0 where hidden or absent)

  float* key_mass = nullptr;  ///< [B, Hq, Nk] sum over rows [mass_row_begin, mass_row_end) of the weight of each key
  std::int64_t mass_row_begin = 0;
  std::int64_t mass_row_end = INT64_MAX;  ///< clipped to Nq
  /// Running mass of a generation: 16 sums a key, [B, Hq, 16, mass_sums_keys], all 0 before the first row. A call adds
  /// its rows to them, and key_mass then says what they come to after its last row. Row by row gives the bits of all
  /// rows at once. Sums belong to keys by index: where a cache moves its keys, the caller moves the sums along.
  float* mass_sums = nullptr;
  std::int64_t mass_sums_keys = 0;  ///< room, at least Nk
  float mass_decay = 1;             ///< in (0, 1]: what a row adds counts this much less with each position after it

  std::span<const std::int32_t> segment_of_key =
      {};                         ///< [Nk] or, with one row a sequence, [B * Nk]: segment of each key, -1 = none
  std::int32_t segments = 0;      ///< how many
  float* segment_mass = nullptr;  ///< [B, Hq, Nq, segments]

  std::int64_t overview_rows = 0, overview_cols = 0;  ///< bins; edges are floor(a * Nq / rows), floor(b * Nk / cols)
  std::int64_t overview_step = 0;  ///< above 0: bins of so many rows and keys instead, the last ones what is left
  float* overview =
      nullptr;  ///< [B, Hq, overview_rows, overview_cols] mean over the rows of a bin of the weight in a column bin

  std::span<const std::int64_t> rows = {};  ///< chosen rows, 0..Nq-1, checked also without row_weights
  float* row_weights = nullptr;             ///< [B, Hq, rows, Nk] their weights, all keys
};

/// Computes out = attention(problem), [B, Hq, Nq, Dv], and what is asked for in `see`, in one pass with O(n) extra
/// memory. `out.data` may be null when only observations are wanted. What is written shares no memory with itself and
/// with what else is read or written; overlaps of tensors and of fp32 arrays are refused, those with index arrays and
/// pools of pages are not looked for. Milakov & Gimelshein 2018 (online softmax), Dao et al. 2022
/// (tiling); docs/attention.md. Throws BadArgument, OutOfMemory, Cancelled, and what a caller's function throws, once.
void attention(const AttentionProblem& problem, const MutableTensorView& out, const Observations& see = {},
               const AttentionOptions& options = {});

/// Bytes that a workspace needs so that the call allocates nothing.
std::size_t workspace_size(const AttentionProblem& problem, const MutableTensorView& out, const Observations& see = {},
                           const AttentionOptions& options = {});

/// What is worked out once for problems that differ only in their numbers, as the layers of a model do: sizes,
/// positions, trees, cuts, relative biases, the observed partitions of keys, and the memory.
class AttentionPlan {
 public:
  /// Throws as attention() does. Trees, cuts, relative biases and segments are read here, and stay what they were.
  AttentionPlan(const AttentionProblem& problem, const Observations& see = {}, const AttentionOptions& options = {});
  ~AttentionPlan();
  AttentionPlan(const AttentionPlan&) = delete;
  AttentionPlan& operator=(const AttentionPlan&) = delete;

  /// As attention(problem, out, see) for a problem that has the plan's shapes, sequences and kinds of masks; otherwise
  /// BadArgument. Everything else is the problem's. One call at a time.
  void run(const AttentionProblem& problem, const MutableTensorView& out, const Observations& see = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// ALiBi's slopes for any number of heads (Press et al. 2022, and their code for numbers that are no power of two).
std::vector<float> alibi_slopes(std::int64_t heads);

/// What a tile holds.
enum class Stage : std::uint8_t {
  raw,      ///< scale * dot
  capped,   ///< after the softcap
  biased,   ///< after bias, ALiBi and mask; hidden = -inf
  weights,  ///< softmax weights; hidden = 0
};

/// A block of one head's map: rows [row_begin, row_end) and keys [key_begin, key_end).
struct TileRange {
  std::int64_t batch = 0, head = 0;
  std::int64_t row_begin = 0, row_end = 0;
  std::int64_t key_begin = 0, key_end = 0;
};

/// The row state that `attention()` reported: row_max and row_sum of the whole problem, [B, Hq, Nq].
struct RowState {
  const float* max = nullptr;
  const float* sum = nullptr;
};

/// Writes a block of the map to `out`, dense [rows, keys]. `state` is needed for Stage::weights alone. Weights have the
/// same bits as chosen rows and top-k weights of the pass. Keys of the tensor that are not in use (key_count) are -inf
/// at every other stage. Throws BadArgument, OutOfMemory.
void tile(const AttentionProblem& problem, const RowState& state, const TileRange& range, Stage stage, float* out);

/// The SIMD target in use: "AVX3" (AVX-512), "AVX2", "NEON" or "SCALAR". The environment variable SIGHTLINE_TARGET
/// forces one (those names in any case; "avx512" for AVX3); a name that is unknown, or that this machine cannot run,
/// makes every entry point throw BadArgument.
std::string simd_target();
/// The targets compiled in that this machine can run, best first.
std::vector<std::string> simd_targets();

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_H_
