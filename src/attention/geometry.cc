#include "src/attention/geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "sightline/error.h"
#include "src/attention/entry.h"
#include "src/attention/memory_use.h"
#include "src/attention/relative_table.h"
#include "src/observe/bins.h"
#include "src/observe/top_capacity.h"
#include "src/tensor/dtype.h"
#include "src/tensor/packed.h"

namespace sightline {
namespace {

// Key indexes are reported as int32; far below its end, so that no sum of positions overflows on the way.
constexpr std::int64_t kMaxKeys = std::int64_t{1} << 30;
// Heads of all sequences together: some 400 bytes are kept for each, rows or not.
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 24;

void refuse(bool wanted, const char* feature, const char* of = "") {
  if (wanted) throw BadArgument(std::string("not supported: ") + feature + of);
}

bool has_elements(const std::array<std::int64_t, 4>& shape) {
  return shape[0] > 0 && shape[1] > 0 && shape[2] > 0 && shape[3] > 0;
}

void check_tensor(const TensorView& tensor, const char* name) {
  for (const std::int64_t size : tensor.shape) {
    require(size >= 0, [&] { return std::string(name) + " has a negative size: " + shape_text(tensor.shape); });
  }
  require(tensor || !has_elements(tensor.shape), [&] { return std::string(name) + " has no data"; });
}

void check_types(const AttentionProblem& p) {
  refuse(!is_float(p.q.dtype), "q in ", dtype_name(p.q.dtype));
  refuse(!is_row_type(p.k.dtype), "k in ", dtype_name(p.k.dtype));
  refuse(!is_row_type(p.v.dtype), "v in ", dtype_name(p.v.dtype));
  const auto flags = [](const TensorView& t) { return !t || t.dtype == DType::boolean || t.dtype == DType::u8; };
  refuse(!flags(p.mask), "a mask that is not boolean");
  refuse(!flags(p.keep), "a keep mask that is not boolean");
  refuse(p.bias && !is_float(p.bias.dtype), "a bias that is not f32, f16 or bf16");
}

void check_broadcast(const TensorView& tensor, const char* name, const Geometry& g) {
  if (!tensor) return;
  const std::array<std::int64_t, 4> full = {g.batch, g.query_heads, g.queries, g.keys};
  for (int axis = 0; axis < 4; ++axis) {
    require(tensor.shape[axis] == full[axis] || tensor.shape[axis] == 1, [&] {
      return std::string(name) + " of shape " + shape_text(tensor.shape) + " does not broadcast to " + shape_text(full);
    });
  }
}

void check_sizes(const AttentionProblem& p) {
  check_tensor(p.q, "q");
  check_tensor(p.k, "k");
  check_tensor(p.v, "v");
  const auto mismatch = [&](const char* what) {
    return std::string(what) + ": q " + shape_text(p.q.shape) + ", k " + shape_text(p.k.shape) + ", v " +
           shape_text(p.v.shape);
  };
  require(p.q.shape[0] == p.k.shape[0] && p.k.shape[0] == p.v.shape[0], [&] { return mismatch("batch sizes differ"); });
  require(p.k.shape[1] == p.v.shape[1], [&] { return mismatch("k and v have different head counts"); });
  require(p.k.shape[2] == p.v.shape[2], [&] { return mismatch("k and v have different lengths"); });
  require(p.q.shape[3] == p.k.shape[3], [&] { return mismatch("q and k have different widths"); });
  require(p.q.shape[1] == 0 || (p.k.shape[1] > 0 && p.q.shape[1] % p.k.shape[1] == 0),
          [&] { return mismatch("query heads must be a multiple of key/value heads"); });
  require(p.q.shape[3] >= 1 && p.q.shape[3] <= kMaxWidth && p.v.shape[3] >= 1 && p.v.shape[3] <= kMaxWidth,
          [&] { return mismatch("widths must be 1 to 1024"); });
  require(p.k.shape[2] <= kMaxKeys && p.q.shape[2] <= kMaxKeys,
          [&] { return mismatch("more than 2^30 rows or keys"); });
  require(p.q.shape[0] <= kMaxHeads && p.q.shape[1] <= kMaxHeads && p.q.shape[0] * p.q.shape[1] <= kMaxHeads,
          [&] { return mismatch("more than 2^24 heads"); });
}

void check_per_head(std::span<const float> values, const char* name, const Geometry& g) {
  require(values.empty() || static_cast<std::int64_t>(values.size()) == g.query_heads,
          [&] { return std::string(name) + " must be empty or one for each query head"; });
}

void check_window(std::int64_t window, const char* name) {
  require(window >= -1 && window <= 2 * kMaxKeys,
          [&] { return std::string(name) + " must be -1 (unbounded) or 0 to 2^31"; });
}

void check_relative_bias(const RelativeBias& bias, const Geometry& g) {
  if (!bias) return;
  const std::int64_t side = bias.bidirectional ? bias.buckets / 2 : bias.buckets;
  require(bias.buckets >= (bias.bidirectional ? 4 : 2) && bias.buckets <= 4096 &&
              (!bias.bidirectional || bias.buckets % 2 == 0),
          [&] {
            return "relative_bias has " + std::to_string(bias.buckets) +
                   " buckets; 2 to 4096 are possible, in both directions an "
                   "even number from 4";
          });
  require(bias.max_distance > side / 2 && bias.max_distance <= RelativeTable::kMaxDistance, [&] {
    return "relative_bias has max_distance " + std::to_string(bias.max_distance) + "; it must be above " +
           std::to_string(side / 2) + " and at most 65536";
  });
  require(static_cast<std::int64_t>(bias.table.size()) == bias.buckets * g.query_heads,
          "relative_bias.table must be [buckets, query heads]");
}

void check_block_rows(const BlockMask& mask, std::int64_t rows, std::int64_t keys) {
  const std::int64_t columns = (keys + BlockMask::kBlock - 1) / BlockMask::kBlock;
  const auto blocks = static_cast<std::int64_t>(mask.bits.size()) / BlockMask::kBlock;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = mask.row_begin[row], end = mask.row_begin[row + 1];
    require(begin >= 0 && begin <= end && end <= static_cast<std::int64_t>(mask.entries.size()),
            "block_mask.row_begin must ascend from 0 to the number of entries");
    for (std::int64_t i = begin; i < end; ++i) {
      const BlockMask::Entry& entry = mask.entries[i];
      require(entry.column >= 0 && entry.column < columns && (i == begin || entry.column > mask.entries[i - 1].column),
              [&] {
                return "block_mask.entries[" + std::to_string(i) + "].column must ascend within its row, below " +
                       std::to_string(columns);
              });
      require(entry.bits >= -1 && entry.bits < blocks, [&] {
        return "block_mask.entries[" + std::to_string(i) + "].bits is outside -1.." + std::to_string(blocks - 1);
      });
    }
  }
}

void check_block_mask(const BlockMask& mask, const Geometry& g) {
  if (!mask) return;
  refuse(g.packed_queries || g.packed_keys, "a block mask with packed sequences");
  require((mask.batch == 1 || mask.batch == g.batch) && (mask.heads == 1 || mask.heads == g.query_heads),
          "block_mask has planes that do not broadcast to the batch and heads");
  const std::int64_t rows = mask.batch * mask.heads * ((g.queries + BlockMask::kBlock - 1) / BlockMask::kBlock);
  require(static_cast<std::int64_t>(mask.row_begin.size()) == rows + 1,
          [&] { return "block_mask.row_begin must hold " + std::to_string(rows + 1) + " numbers"; });
  require(mask.row_begin.front() == 0 && mask.row_begin.back() == static_cast<std::int64_t>(mask.entries.size()),
          "block_mask.row_begin must ascend from 0 to the number of entries");
  check_block_rows(mask, rows, g.keys);
}

void check_tree(const AttentionProblem& p, const Geometry& g) {
  if (p.tree_parents.empty()) return;
  refuse(g.packed_queries || g.packed_keys, "a tree mask with packed sequences");
  const auto count = static_cast<std::int64_t>(p.tree_parents.size());
  require(count == g.queries || count == g.batch * g.queries, "tree_parents must hold a parent for each query");
  for (const SequencePlan& s : g.sequences) {
    require(s.key_count >= g.queries, "a tree mask needs the keys of its queries among the keys in use");
  }
  for (const SequenceSpan& span : p.sequences) {
    require(!span.query_position, "a tree mask and query_position exclude each other");
  }
  require(p.alignment == Alignment::bottom_right, "a tree mask needs the bottom_right alignment");
}

void check_pages(const AttentionProblem& p, const Geometry& g) {
  if (!p.pages) return;
  const PageTable& pages = p.pages;
  require(pages.page_size >= 1 && pages.page_size <= kMaxKeys, "pages.page_size must be 1 to 2^30");
  require(p.cu_seqlens_k.empty(), "keys in pages have their lengths in sequences, not in cu_seqlens_k");
  for (std::size_t s = 0; s < g.sequences.size(); ++s) {
    const std::int64_t used = (g.sequences[s].key_count + pages.page_size - 1) / pages.page_size;
    require(used <= pages.table_stride, [&] {
      return "sequence " + std::to_string(s) + " needs " + std::to_string(used) +
             " pages, more than pages.table_stride";
    });
    const std::int32_t* table = pages.table + static_cast<std::int64_t>(s) * pages.table_stride;
    for (std::int64_t i = 0; i < used; ++i) {
      require(table[i] >= 0 && table[i] < pages.page_count, [&] {
        return "pages.table names page " + std::to_string(table[i]) + ", outside 0.." +
               std::to_string(pages.page_count - 1);
      });
    }
  }
}

void check_terms(const AttentionProblem& p, const Geometry& g) {
  require_value(p.alignment, Alignment::bottom_right, "alignment");
  check_window(p.window_left, "window_left");
  check_window(p.window_right, "window_right");
  require(p.softcap >= 0 && std::isfinite(p.softcap), "softcap must be 0 (none) or a positive number");
  require(std::isfinite(p.keep_scale), "keep_scale must be finite");
  check_per_head(p.alibi_slopes, "alibi_slopes", g);
  check_per_head(p.sinks, "sinks", g);
  check_per_head(p.head_scale, "head_scale", g);
  check_relative_bias(p.relative_bias, g);
  check_block_mask(p.block_mask, g);
  check_tree(p, g);
  check_pages(p, g);
}

// Lengths of packed sequences; `total`: rows of the tensor.
void check_lengths(std::span<const std::int32_t> begins, std::int64_t total, const char* name) {
  require(
      !begins.empty() && begins.front() == 0 && begins.back() == total && std::is_sorted(begins.begin(), begins.end()),
      [&] { return std::string(name) + " must ascend from 0 to " + std::to_string(total); });
}

// The sequences before positions are known.
void split_sequences(const AttentionProblem& p, Geometry& g) {
  std::pmr::vector<SequencePlan>& plans = g.sequences;
  if (!g.packed_queries) {
    require(p.cu_seqlens_k.empty(), "cu_seqlens_k is given without cu_seqlens_q");
    plans.resize(static_cast<std::size_t>(g.batch));
    for (std::int64_t b = 0; b < g.batch; ++b) plans[b] = {b, 0, g.queries, 0, g.keys};
    return;
  }
  require(g.batch == 1, "packed sequences need a batch of 1");
  check_lengths(p.cu_seqlens_q, g.queries, "cu_seqlens_q");
  require(g.packed_keys || p.pages, "cu_seqlens_q is given without cu_seqlens_k or pages");
  if (g.packed_keys) {
    check_lengths(p.cu_seqlens_k, g.keys, "cu_seqlens_k");
    require(p.cu_seqlens_k.size() == p.cu_seqlens_q.size(), "cu_seqlens_q and cu_seqlens_k differ in length");
  }
  plans.resize(p.cu_seqlens_q.size() - 1);
  for (std::size_t s = 0; s < plans.size(); ++s) {
    plans[s] = {0, p.cu_seqlens_q[s], p.cu_seqlens_q[s + 1] - p.cu_seqlens_q[s], 0, g.keys};
    if (!g.packed_keys) continue;
    plans[s].key_begin = p.cu_seqlens_k[s];
    plans[s].keys = p.cu_seqlens_k[s + 1] - p.cu_seqlens_k[s];
  }
}

void place_sequence(const AttentionProblem& p, const SequenceSpan& span, SequencePlan& plan) {
  require(span.key_count >= -1 && span.key_count <= plan.keys, [&] {
    return "key_count " + std::to_string(span.key_count) + " is outside 0.." + std::to_string(plan.keys);
  });
  require(span.key_position >= -kMaxKeys && span.key_position <= kMaxKeys, "key_position must be -2^30 to 2^30");
  plan.key_count = span.key_count < 0 ? plan.keys : span.key_count;
  plan.key_position = span.key_position;
  const std::int64_t aligned = p.alignment == Alignment::top_left ? 0 : plan.key_count - plan.rows;
  plan.query_position = span.query_position.value_or(plan.key_position + aligned);
  require(plan.query_position > plan.key_position - kMaxKeys && plan.query_position < plan.key_position + kMaxKeys,
          [&] { return "query_position is 2^30 or more from key_position"; });
}

// What decides which buffers and tables a problem needs.
int kinds_of(const AttentionProblem& p) {
  const bool kinds[] = {static_cast<bool>(p.mask),
                        static_cast<bool>(p.bias),
                        static_cast<bool>(p.keep),
                        static_cast<bool>(p.relative_bias),
                        !p.cuts.empty(),
                        !p.tree_parents.empty(),
                        static_cast<bool>(p.pages),
                        static_cast<bool>(p.block_mask)};
  int bits = 0;
  for (const bool kind : kinds) bits = 2 * bits + static_cast<int>(kind);
  return bits;
}

}  // namespace

Geometry validate(const AttentionProblem& p, std::pmr::memory_resource* memory) {
  check_sizes(p);
  check_types(p);
  Geometry g(memory);
  g.batch = p.q.shape[0];
  g.query_heads = p.q.shape[1];
  g.kv_heads = p.k.shape[1];
  g.queries = p.q.shape[2];
  g.keys = p.k.shape[2];
  g.width = p.q.shape[3];
  g.value_width = p.v.shape[3];
  g.scale = p.scale.value_or(static_cast<float>(1.0 / std::sqrt(static_cast<double>(g.width))));
  require(std::isfinite(g.scale), "scale must be finite");
  check_broadcast(p.mask, "mask", g);
  check_broadcast(p.bias, "bias", g);
  check_broadcast(p.keep, "keep", g);
  g.packed_queries = !p.cu_seqlens_q.empty();
  g.packed_keys = !p.cu_seqlens_k.empty();
  split_sequences(p, g);
  require(p.sequences.empty() || p.sequences.size() == g.sequences.size(),
          "sequences must be empty or one for each sequence");
  for (std::size_t s = 0; s < g.sequences.size(); ++s) {
    place_sequence(p, p.sequences.empty() ? SequenceSpan{} : p.sequences[s], g.sequences[s]);
  }
  check_terms(p, g);
  g.kinds = kinds_of(p);
  return g;
}

bool same_geometry(const Geometry& a, const Geometry& b) {
  const auto sizes = [](const Geometry& g) {
    return std::array{g.batch, g.query_heads, g.kv_heads, g.queries, g.keys, g.width, g.value_width};
  };
  return sizes(a) == sizes(b) && a.kinds == b.kinds && a.packed_queries == b.packed_queries &&
         a.packed_keys == b.packed_keys && a.sequences == b.sequences;
}

void validate_output(const Geometry& g, const MutableTensorView& out) {
  if (!out) return;
  const std::array<std::int64_t, 4> expected = {g.batch, g.query_heads, g.queries, g.value_width};
  require(out.shape == expected,
          [&] { return "out has shape " + shape_text(out.shape) + ", not " + shape_text(expected); });
  refuse(!is_float(out.dtype), "out that is not f32, f16 or bf16");
  require(!shares_memory_within(out), "out has strides at which its elements would share memory");
}

void validate_observations(const Geometry& g, const Observations& see) {
  require_value(see.measure, Measure::value_weight, "measure");
  const bool top = see.topk_index != nullptr || see.topk_weight != nullptr;
  require(!top || (see.top_k >= 1 && see.top_k <= kMaxTopKeys), "top_k must be 1 to 64");
  require(see.offset_mass == nullptr || !see.offsets.empty(), "offset_mass is asked for without offsets");
  require((see.key_mass == nullptr && see.mass_sums == nullptr) ||
              (see.mass_row_begin >= 0 && see.mass_row_begin <= see.mass_row_end),
          "the row range of key_mass is upside down");
  require(see.mass_decay > 0 && see.mass_decay <= 1, "mass_decay must be above 0 and at most 1");
  require(see.mass_sums == nullptr || (see.mass_sums_keys >= g.keys && see.mass_sums_keys <= 2 * kMaxKeys),
          "mass_sums_keys must be at least the number of keys, and at most 2^31");
  if (see.segment_mass != nullptr) {
    require(see.segments >= 1, "segment_mass is asked for without segments");
    const auto count = static_cast<std::int64_t>(see.segment_of_key.size());
    require(count == g.keys || count == g.key_planes() * g.keys, "segment_of_key must hold a segment for each key");
    // In generation each layer asks for each token: all are looked at at once, and one by one where one is wrong.
    bool outside = false;
    for (const std::int32_t segment : see.segment_of_key) outside |= segment < -1 || segment >= see.segments;
    for (const std::int32_t segment : outside ? see.segment_of_key : std::span<const std::int32_t>()) {
      require(segment >= -1 && segment < see.segments, [&] {
        return "segment_of_key holds " + std::to_string(segment) + ", outside -1.." + std::to_string(see.segments - 1);
      });
    }
  }
  if (see.overview != nullptr) {
    require(see.overview_rows >= 1 && see.overview_cols >= 1, "overview needs at least one row and column bin");
    // A packed sequence may have fewer rows than bins: some then stay 0.
    require(g.packed_queries || (see.overview_rows <= std::max<std::int64_t>(g.queries, 1) &&
                                 see.overview_cols <= std::max<std::int64_t>(g.keys, 1)),
            "overview has more bins than rows or keys");
    require(see.overview_step >= 0, "overview_step must not be negative");
    for (const SequencePlan& s : g.sequences) {
      require(Bins{s.rows, see.overview_rows, see.overview_step}.cover() &&
                  Bins{s.keys, see.overview_cols, see.overview_step}.cover(),
              "overview has too few bins of overview_step rows and keys");
    }
  }
  for (const std::int64_t row : see.rows) {
    require(row >= 0 && row < g.queries, [&] {
      return "chosen row " + std::to_string(row) + " is outside the " + std::to_string(g.queries) + " queries";
    });
  }
}

}  // namespace sightline
