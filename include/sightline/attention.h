#ifndef SIGHTLINE_ATTENTION_H_
#define SIGHTLINE_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
  std::int64_t key_count = -1;                      ///< keys in use, the first ones of the tensor; -1: all Nk
  std::int64_t key_position = 0;                    ///< position of key 0, >= 0
  std::optional<std::int64_t> query_position = {};  ///< position of query 0; by default the alignment decides
};

/// A problem of scaled dot-product attention: softmax(scale * Q K^T, masked) V.
/// Query head h reads key/value head h / (Hq / Hkv). For one row the order is: dot, scale, softcap, bias, ALiBi, mask,
/// softmax (with the sink in the denominator), mix. It is validated once, at the entry of each function below; what is
/// not supported is refused with BadArgument naming it. Limits: widths 1 to 1024, 2^30 queries or keys, 2^24 planes
/// (B * Hq). Elements lie at addresses that their type may have (fp32: multiples of 4).
struct AttentionProblem {
  TensorView q;  ///< [B, Hq, Nq, D]
  TensorView k;  ///< [B, Hkv, Nk, D]
  TensorView v;  ///< [B, Hkv, Nk, Dv]

  std::optional<float> scale = {};  ///< default 1/sqrt(D)
  bool causal = false;              ///< hide keys that stand after the query
  Alignment alignment = Alignment::bottom_right;
  std::int64_t window_left = -1;   ///< keys visible before the query's own position; -1: all
  std::int64_t window_right = -1;  ///< keys visible after it; -1: all
  float softcap = 0;               ///< c > 0: scores become c * tanh(score / c)

  TensorView mask;  ///< boolean, true = attend; every axis of [B, Hq, Nq, Nk] may have size 1 (broadcast)
  TensorView bias;  ///< f32, added to the scaled score; broadcasts as `mask`; -inf hides, -FLT_MAX is only a number

  std::span<const float> alibi_slopes = {};      ///< [Hq] or empty
  std::span<const float> sinks = {};             ///< [Hq] or empty: one more logit in the denominator
  std::span<const SequenceSpan> sequences = {};  ///< [B] or empty: every sequence whole, from position 0
};

/// What to observe, and where to put it. A null pointer means: not asked for. All arrays are dense, row-major, and
/// owned by the caller. A row with no visible key has max and lse -inf, entropy, position, distance and every mass 0,
/// and an empty top-k (index -1, weight 0). A row that saw a NaN reports NaN, but for the weights of keys that it did
/// not see.
struct Observations {
  float* row_max = nullptr;  ///< [B, Hq, Nq] largest visible score m; with row_sum the row state of `tile()`
  float* row_sum = nullptr;  ///< [B, Hq, Nq] l = sum of exp(score - m)
  float* lse = nullptr;      ///< [B, Hq, Nq] m + ln l
  float* entropy = nullptr;  ///< [B, Hq, Nq] -sum w ln w, nats
  float* position =
      nullptr;  ///< [B, Hq, Nq] sum w j / sum w, j the key's position in the sequence (a sink's weight is left out)
  float* distance = nullptr;  ///< [B, Hq, Nq] sum w |i - j| / sum w, in positions

  int top_k = 0;  ///< 1..64 when asked for
  std::int32_t* topk_index =
      nullptr;  ///< [B, Hq, Nq, top_k] key index in the tensor, largest weight first, ties by lower index
  float* topk_weight = nullptr;  ///< [B, Hq, Nq, top_k]

  std::span<const std::int64_t> offsets = {};  ///< key position minus query position, e.g. -1, 0, 1
  float* offset_mass = nullptr;  ///< [B, Hq, Nq, offsets] the weight at each offset (0 where hidden or absent)

  float* key_mass = nullptr;  ///< [B, Hq, Nk] sum over rows [mass_row_begin, mass_row_end) of the weight of each key
  std::int64_t mass_row_begin = 0;
  std::int64_t mass_row_end = INT64_MAX;  ///< clipped to Nq

  std::span<const std::int32_t> segment_of_key =
      {};                         ///< [Nk] or, with one row a sequence, [B * Nk]: segment of each key, -1 = none
  std::int32_t segments = 0;      ///< how many
  float* segment_mass = nullptr;  ///< [B, Hq, Nq, segments]

  std::int64_t overview_rows = 0, overview_cols = 0;  ///< bins; edges are floor(a * Nq / rows), floor(b * Nk / cols)
  float* overview =
      nullptr;  ///< [B, Hq, overview_rows, overview_cols] mean over the rows of a bin of the weight in a column bin

  std::span<const std::int64_t> rows = {};  ///< chosen rows, 0..Nq-1, checked also without row_weights
  float* row_weights = nullptr;             ///< [B, Hq, rows, Nk] their weights, all keys
};

struct AttentionOptions {
  int threads = 0;  ///< 0: as many as the machine has; negative: BadArgument
};

/// Computes out = attention(problem), [B, Hq, Nq, Dv], and what is asked for in `see`, in one pass with O(n) extra
/// memory. `out.data` may be null when only observations are wanted; its rows must not share memory (no stride of 0).
/// Milakov & Gimelshein 2018 (online softmax); Dao et al. 2022 (tiling); docs/attention.md has the algebra used here.
/// Throws BadArgument, OutOfMemory.
void attention(const AttentionProblem& problem, const MutableTensorView& out, const Observations& see = {},
               const AttentionOptions& options = {});

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
