#include "src/attention/geometry.h"

#include <cmath>
#include <string>

#include "sightline/error.h"
#include "src/observe/top_capacity.h"

namespace sightline {
namespace {

constexpr std::int64_t kMaxWidth = 1024;
// Key indexes are reported as int32; far below its end, so that no sum of positions overflows on the way.
constexpr std::int64_t kMaxKeys = std::int64_t{1} << 30;
// Heads of all sequences together: some 400 bytes are kept for each, rows or not.
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 24;

std::string shape_text(const std::array<std::int64_t, 4>& shape) {
  std::string text = "[";
  for (int axis = 0; axis < 4; ++axis) text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
  return text + "]";
}

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw BadArgument(otherwise);
}

void refuse(bool wanted, const char* feature) {
  if (wanted) throw BadArgument(std::string("not supported: ") + feature);
}

bool has_elements(const std::array<std::int64_t, 4>& shape) {
  return shape[0] > 0 && shape[1] > 0 && shape[2] > 0 && shape[3] > 0;
}

void check_tensor(const TensorView& tensor, const char* name) {
  for (const std::int64_t size : tensor.shape) {
    require(size >= 0, std::string(name) + " has a negative size: " + shape_text(tensor.shape));
  }
  require(tensor || !has_elements(tensor.shape), std::string(name) + " has no data");
  refuse(tensor.dtype != DType::f32, (std::string(name) + " in " + dtype_name(tensor.dtype)).c_str());
}

void check_broadcast(const TensorView& tensor, const char* name, const Geometry& g) {
  if (!tensor) return;
  const std::array<std::int64_t, 4> full = {g.batch, g.query_heads, g.queries, g.keys};
  for (int axis = 0; axis < 4; ++axis) {
    require(tensor.shape[axis] == full[axis] || tensor.shape[axis] == 1,
            std::string(name) + " of shape " + shape_text(tensor.shape) + " does not broadcast to " + shape_text(full));
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
  require(p.q.shape[0] == p.k.shape[0] && p.k.shape[0] == p.v.shape[0], mismatch("batch sizes differ"));
  require(p.k.shape[1] == p.v.shape[1], mismatch("k and v have different head counts"));
  require(p.k.shape[2] == p.v.shape[2], mismatch("k and v have different lengths"));
  require(p.q.shape[3] == p.k.shape[3], mismatch("q and k have different widths"));
  require(p.q.shape[1] == 0 || (p.k.shape[1] > 0 && p.q.shape[1] % p.k.shape[1] == 0),
          mismatch("query heads must be a multiple of key/value heads"));
  require(p.q.shape[3] >= 1 && p.q.shape[3] <= kMaxWidth && p.v.shape[3] >= 1 && p.v.shape[3] <= kMaxWidth,
          mismatch("widths must be 1 to 1024"));
  require(p.k.shape[2] <= kMaxKeys && p.q.shape[2] <= kMaxKeys, mismatch("more than 2^30 rows or keys"));
  require(p.q.shape[0] <= kMaxHeads && p.q.shape[1] <= kMaxHeads && p.q.shape[0] * p.q.shape[1] <= kMaxHeads,
          mismatch("more than 2^24 heads"));
}

void refuse_unsupported(const AttentionProblem& p) {
  refuse(p.window_left >= 0 || p.window_right >= 0, "sliding window");
  refuse(p.softcap != 0, "softcap");
  refuse(!p.alibi_slopes.empty(), "ALiBi");
  refuse(!p.sinks.empty(), "attention sinks");
  refuse(static_cast<bool>(p.pages), "pages");
  refuse(static_cast<bool>(p.relative_bias), "relative bias");
  refuse(!p.head_scale.empty(), "head_scale");
  refuse(!p.cuts.empty(), "cuts");
  refuse(static_cast<bool>(p.block_mask), "block mask");
  refuse(!p.tree_parents.empty(), "tree mask");
  refuse(p.score_function != nullptr, "score function");
  refuse(p.mask_function != nullptr, "mask function");
  refuse(static_cast<bool>(p.keep), "dropout");
  refuse(!p.cu_seqlens_q.empty() || !p.cu_seqlens_k.empty(), "packed sequences");
  refuse(p.mask && p.mask.dtype != DType::boolean && p.mask.dtype != DType::u8, "a mask that is not boolean");
  refuse(p.bias && p.bias.dtype != DType::f32, "a bias that is not f32");
}

SequencePlan plan_sequence(const AttentionProblem& p, const Geometry& g, const SequenceSpan& span) {
  require(span.key_count >= -1 && span.key_count <= g.keys,
          "key_count " + std::to_string(span.key_count) + " is outside 0.." + std::to_string(g.keys));
  require(span.key_position >= 0 && span.key_position <= kMaxKeys, "key_position must be 0 to 2^30");
  SequencePlan plan;
  plan.key_count = span.key_count < 0 ? g.keys : span.key_count;
  plan.key_position = span.key_position;
  const std::int64_t aligned = p.alignment == Alignment::top_left ? 0 : plan.key_count - g.queries;
  plan.query_position = span.query_position.value_or(plan.key_position + aligned);
  require(plan.query_position >= -2 * kMaxKeys && plan.query_position <= 2 * kMaxKeys,
          "query_position is outside +-2^31");
  return plan;
}

}  // namespace

Geometry validate(const AttentionProblem& p) {
  check_sizes(p);
  refuse_unsupported(p);
  Geometry g;
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
  require(p.sequences.empty() || static_cast<std::int64_t>(p.sequences.size()) == g.batch,
          "sequences must be empty or one for each of the batch");
  for (std::int64_t b = 0; b < g.batch; ++b) {
    g.sequences.push_back(plan_sequence(p, g, p.sequences.empty() ? SequenceSpan{} : p.sequences[b]));
  }
  return g;
}

void validate_output(const Geometry& g, const MutableTensorView& out) {
  if (!out) return;
  const std::array<std::int64_t, 4> expected = {g.batch, g.query_heads, g.queries, g.value_width};
  require(out.shape == expected, "out has shape " + shape_text(out.shape) + ", not " + shape_text(expected));
  refuse(out.dtype != DType::f32, "out that is not f32");
  for (int axis = 0; axis < 4; ++axis) {
    require(out.strides[axis] != 0 || out.shape[axis] <= 1 || !has_elements(out.shape),
            "out has stride 0: its elements would share memory");
  }
}

void validate_observations(const Geometry& g, const Observations& see) {
  refuse(see.measure != Measure::weight, "the measure value_weight");
  refuse(see.sink_weight != nullptr || see.entropy_with_sink != nullptr, "the weight of sinks");
  refuse(see.mass_sums != nullptr || see.mass_decay != 1, "running mass");
  const bool top = see.topk_index != nullptr || see.topk_weight != nullptr;
  require(!top || (see.top_k >= 1 && see.top_k <= kMaxTopKeys), "top_k must be 1 to 64");
  require(see.offset_mass == nullptr || !see.offsets.empty(), "offset_mass is asked for without offsets");
  require(see.key_mass == nullptr || (see.mass_row_begin >= 0 && see.mass_row_begin <= see.mass_row_end),
          "the row range of key_mass is upside down");
  if (see.segment_mass != nullptr) {
    require(see.segments >= 1, "segment_mass is asked for without segments");
    const auto count = static_cast<std::int64_t>(see.segment_of_key.size());
    require(count == g.keys || count == g.batch * g.keys, "segment_of_key must hold a segment for each key");
    for (const std::int32_t segment : see.segment_of_key) {
      require(segment >= -1 && segment < see.segments,
              "segment_of_key holds " + std::to_string(segment) + ", outside -1.." + std::to_string(see.segments - 1));
    }
  }
  if (see.overview != nullptr) {
    require(see.overview_rows >= 1 && see.overview_cols >= 1, "overview needs at least one row and column bin");
    require(see.overview_rows <= std::max<std::int64_t>(g.queries, 1) &&
                see.overview_cols <= std::max<std::int64_t>(g.keys, 1),
            "overview has more bins than rows or keys");
  }
  for (const std::int64_t row : see.rows) {
    require(row >= 0 && row < g.queries,
            "chosen row " + std::to_string(row) + " is outside the " + std::to_string(g.queries) + " queries");
  }
}

}  // namespace sightline
