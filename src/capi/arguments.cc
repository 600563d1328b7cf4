#include "src/capi/arguments.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "src/capi/convert.h"

namespace sightline::capi {
namespace {

using Args = sightline_attention_args;

Args read_args(const Args* passed) {
  require(passed != nullptr, "args is null");
  // The smallest struct that says anything ends where the fields that may be left out begin.
  return read_struct(passed, offsetof(Args, threads), "sightline_attention_args");
}

Measure measure(std::int64_t code) {
  static constexpr std::array kMeasures = {Measure::weight, Measure::value_weight};
  return decode(code, kMeasures, "measure must be SIGHTLINE_WEIGHT or SIGHTLINE_VALUE_WEIGHT");
}

PageTable pages(const sightline_page_table& p) {
  return {p.table, p.table_stride, p.page_size, p.page_count, p.k_page_stride, p.v_page_stride};
}

RelativeBias relative_bias(const sightline_relative_bias& r, std::int64_t heads) {
  RelativeBias bias;
  bias.buckets = or_default(r.buckets, bias.buckets);
  bias.max_distance = or_default(r.max_distance, bias.max_distance);
  bias.bidirectional = r.unidirectional == 0;
  std::int64_t size = 0;
  require(r.table == nullptr || !__builtin_mul_overflow(bias.buckets, heads, &size),
          "relative_bias.buckets is out of range");
  bias.table = array_or_none(r.table, size);
  return bias;
}

EdgeCut edge_cut(const sightline_edge_cut& cut) {
  return {cut.batch, array(cut.heads, cut.head_count, "heads of a cut is null or its count negative"),
          array(cut.rows, cut.row_count, "rows of a cut is null or its count negative"),
          array(cut.keys, cut.key_count, "keys of a cut is null or its count negative")};
}

SequenceSpan sequence(const sightline_sequence& s) {
  return {s.key_count, s.key_position, s.has_query_position != 0 ? std::optional(s.query_position) : std::nullopt};
}

}  // namespace

Arguments::Arguments(const Args* passed)
    : args_(read_args(passed)), score_function_(args_.score_function), mask_function_(args_.mask_function) {
  read_lists();
  read_problem();
  read_masks();
  read_observations();
  read_masses();
}

MutableTensorView Arguments::out() const { return view<MutableTensorView>(args_.out); }

void Arguments::read_lists() {
  const Args& a = args_;
  for (const auto& s : array(a.sequences, a.sequence_count, "sequences is null or its count negative")) {
    sequences_.push_back(sequence(s));
  }
  for (const auto& cut : array(a.cuts, a.cut_count, "cuts is null or its count negative")) {
    cuts_.push_back(edge_cut(cut));
  }
  const auto& mask = a.block_mask;
  for (const auto& b : array(mask.blocks, mask.block_count, "blocks of block_mask is null or its count negative")) {
    blocks_.push_back({b.column, b.bits});
  }
}

void Arguments::read_problem() {
  const Args& a = args_;
  AttentionProblem& p = problem_;
  const std::int64_t heads = a.q.shape[1];
  p.q = view<TensorView>(a.q);
  p.k = view<TensorView>(a.k);
  p.v = view<TensorView>(a.v);
  p.pages = pages(a.pages);
  if (a.has_scale != 0) p.scale = a.scale;
  p.softcap = a.softcap;
  p.bias = view<TensorView>(a.bias);
  p.alibi_slopes = array_or_none(a.alibi_slopes, heads);
  p.relative_bias = relative_bias(a.relative_bias, heads);
  p.sinks = array_or_none(a.sinks, heads);
  p.head_scale = array_or_none(a.head_scale, heads);
  if (a.score_function.apply != nullptr) p.score_function = &score_function_;
  p.keep = view<TensorView>(a.keep);
  p.keep_scale = or_default(a.keep_scale, 1.0f);
  p.sequences = sequences_;
  p.cu_seqlens_q = array(a.cu_seqlens_q, a.cu_seqlen_count, "cu_seqlens_q is null or its count negative");
  p.cu_seqlens_k = array(a.cu_seqlens_k, a.cu_seqlen_count, "cu_seqlens_k is null or its count negative");
}

void Arguments::read_masks() {
  const Args& a = args_;
  AttentionProblem& p = problem_;
  p.causal = a.causal != 0;
  p.alignment = alignment(a.alignment);
  if (a.has_window != 0) {
    p.window_left = a.window_left;
    p.window_right = a.window_right;
  }
  p.mask = view<TensorView>(a.mask);
  p.cuts = cuts_;
  const auto& mask = a.block_mask;
  p.block_mask.batch = or_default(mask.batch, p.block_mask.batch);
  p.block_mask.heads = or_default(mask.heads, p.block_mask.heads);
  p.block_mask.row_begin =
      array(mask.row_begin, mask.row_begin_count, "row_begin of block_mask is null or its count negative");
  p.block_mask.entries = blocks_;
  p.block_mask.bits = array(mask.bits, mask.bits_count, "bits of block_mask is null or its count negative");
  p.tree_parents = array(a.tree_parents, a.tree_parent_count, "tree_parents is null or its count negative");
  if (a.mask_function.hide != nullptr) p.mask_function = &mask_function_;
}

void Arguments::read_observations() {
  const Args& a = args_;
  Observations& see = observations_;
  see.row_max = a.row_max;
  see.row_sum = a.row_sum;
  see.lse = a.lse;
  see.entropy = a.entropy;
  see.position = a.position;
  see.distance = a.distance;
  see.sink_weight = a.sink_weight;
  see.entropy_with_sink = a.entropy_with_sink;
  see.top_k = narrow<int>(a.top_k, "top_k must be 1 to 64");
  see.topk_index = a.topk_index;
  see.topk_weight = a.topk_weight;
  see.offsets = array(a.offsets, a.offset_count, "offsets is null or its count negative");
  see.offset_mass = a.offset_mass;
  see.rows = array(a.rows, a.row_count, "rows is null or its count negative");
  see.row_weights = a.row_weights;
}

void Arguments::read_masses() {
  const Args& a = args_;
  Observations& see = observations_;
  see.measure = measure(a.measure);
  see.key_mass = a.key_mass;
  see.mass_row_begin = a.mass_row_begin;
  if (a.mass_row_end != 0) see.mass_row_end = a.mass_row_end;
  see.mass_sums = a.mass_sums;
  see.mass_sums_keys = a.mass_sums_keys;
  see.mass_decay = or_default(a.mass_decay, 1.0f);
  see.segment_of_key = array(a.segment_of_key, a.segment_key_count, "segment_of_key is null or its count negative");
  see.segments = narrow<std::int32_t>(a.segments, "segments must fit 32 bits");
  see.segment_mass = a.segment_mass;
  see.overview_rows = a.overview_rows;
  see.overview_cols = a.overview_cols;
  see.overview_step = a.overview_step;
  see.overview = a.overview;
}

Alignment alignment(std::int64_t code) {
  static constexpr std::array kAlignments = {Alignment::bottom_right, Alignment::top_left};
  return decode(code, kAlignments, "alignment must be SIGHTLINE_BOTTOM_RIGHT or SIGHTLINE_TOP_LEFT");
}

Stage stage(std::int64_t code) {
  static constexpr std::array kStages = {Stage::raw, Stage::capped, Stage::biased, Stage::weights};
  return decode(code, kStages, "stage must be SIGHTLINE_RAW, SIGHTLINE_CAPPED, SIGHTLINE_BIASED or SIGHTLINE_WEIGHTS");
}

}  // namespace sightline::capi
