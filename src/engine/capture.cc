#include "src/engine/capture.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "sightline/error.h"
#include "src/engine/summary.h"

namespace sightline::engine {
namespace {

void refuse(bool given, const char* what) {
  if (given) throw UnsupportedModel(std::string("looking into a layer that uses ") + what + " is not supported");
}

// One row [width] of a strided tensor.
void copy_row(const std::byte* from, std::int64_t width, std::int64_t stride, std::int64_t size, std::byte* to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(width * size));
    return;
  }
  for (std::int64_t d = 0; d < width; ++d) {
    std::memcpy(to + d * size, from + d * stride * size, static_cast<std::size_t>(size));
  }
}

// Dense copy of a strided tensor.
std::vector<std::byte> copy_elements(const TensorView& view) {
  const auto size = static_cast<std::int64_t>(dtype_size(view.dtype));
  const auto [batch, heads, rows, width] = view.shape;
  std::vector<std::byte> copy(static_cast<std::size_t>(batch * heads * rows * width * size));
  std::byte* to = copy.data();
  const auto* from = static_cast<const std::byte*>(view.data);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < rows; ++i, to += width * size) {
        const std::int64_t at = b * view.strides[0] + h * view.strides[1] + i * view.strides[2];
        copy_row(from + at * size, width, view.strides[3], size, to);
      }
    }
  }
  return copy;
}

TensorView dense_copy_view(const std::vector<std::byte>& copy, const TensorView& original) {
  return {copy.data(), original.dtype, original.shape, dense_strides(original.shape)};
}

TensorView narrowed(TensorView view, int axis, std::int64_t index) {
  const auto offset = index * view.strides[axis] * static_cast<std::int64_t>(dtype_size(view.dtype));
  view.data = static_cast<const std::byte*>(view.data) + offset;
  view.shape[axis] = 1;
  return view;
}

void allocate(LayerRecord& record) {
  const auto rows = static_cast<std::size_t>(record.heads * record.rows);
  for (auto* values : {&record.row_max, &record.row_sum, &record.lse, &record.entropy, &record.text_entropy,
                       &record.position, &record.distance}) {
    values->resize(rows);
  }
  if (!record.rule.sinks.empty()) record.sink_weight.resize(rows);
  record.offset_mass.resize(rows * std::size(kOffsets));
  record.segment_mass.resize(rows * static_cast<std::size_t>(record.segments));
  record.key_mass.resize(static_cast<std::size_t>(record.heads * record.keys));
  record.top_index.resize(rows * static_cast<std::size_t>(record.top));
  record.top_weight.resize(rows * static_cast<std::size_t>(record.top));
  if (record.kept) record.pyramid = Pyramid(record.heads, record.rows, record.keys);
}

// The part of a [heads, row width] array that belongs to one head, from 1.
template <class T>
std::span<const T> of_head(const std::vector<T>& values, std::int64_t heads, int head) {
  const std::size_t width = values.size() / static_cast<std::size_t>(heads);
  return std::span(values).subspan(width * static_cast<std::size_t>(head - 1), width);
}

Observations observations_of(LayerRecord& record, std::span<const std::int32_t> segment_of_key) {
  Observations see;
  see.row_max = record.row_max.data();
  see.row_sum = record.row_sum.data();
  see.lse = record.lse.data();
  see.entropy = record.entropy.data();
  see.position = record.position.data();
  see.distance = record.distance.data();
  see.sink_weight = record.sink_weight.empty() ? nullptr : record.sink_weight.data();
  see.top_k = record.top;
  see.topk_index = record.top_index.data();
  see.topk_weight = record.top_weight.data();
  see.offsets = kOffsets;
  see.offset_mass = record.offset_mass.data();
  see.key_mass = record.key_mass.data();
  see.segment_of_key = segment_of_key;
  see.segments = record.segments;
  see.segment_mass = record.segment_mass.data();
  record.pyramid.ask(see);
  return see;
}

}  // namespace

void require_storable(const AttentionProblem& problem) {
  refuse(static_cast<bool>(problem.mask), "an attention mask");
  refuse(static_cast<bool>(problem.bias), "an attention bias");
  refuse(!problem.alibi_slopes.empty(), "ALiBi");
  refuse(static_cast<bool>(problem.relative_bias), "relative positions");
  refuse(!problem.cuts.empty(), "edges that were cut");
  refuse(!problem.head_scale.empty(), "scaled heads");
  refuse(static_cast<bool>(problem.keep), "dropout");
  refuse(static_cast<bool>(problem.block_mask), "a mask of blocks");
  refuse(!problem.tree_parents.empty(), "a tree of tokens");
  refuse(problem.score_function != nullptr || problem.mask_function != nullptr, "score or mask functions");
  refuse(static_cast<bool>(problem.pages), "pages of a cache");
  refuse(!problem.sequences.empty() || !problem.cu_seqlens_q.empty(), "positions of its own");
}

StoredProblem::StoredProblem(const AttentionProblem& problem)
    : q_(copy_elements(problem.q)),
      k_(copy_elements(problem.k)),
      v_(copy_elements(problem.v)),
      sinks_(problem.sinks.begin(), problem.sinks.end()),
      problem_(problem) {
  require_storable(problem);
  problem_.q = dense_copy_view(q_, problem.q);
  problem_.k = dense_copy_view(k_, problem.k);
  problem_.v = dense_copy_view(v_, problem.v);
  problem_.sinks = sinks_;
}

AttentionProblem StoredProblem::row(std::int64_t head, std::int64_t row, SequenceSpan& at) const {
  AttentionProblem one = problem_;
  const std::int64_t kv_head = head / (problem_.q.shape[1] / problem_.k.shape[1]);
  one.q = narrowed(narrowed(problem_.q, 1, head), 2, row);
  one.k = narrowed(problem_.k, 1, kv_head);
  one.v = narrowed(problem_.v, 1, kv_head);
  if (!sinks_.empty()) one.sinks = std::span(sinks_).subspan(static_cast<std::size_t>(head), 1);
  const ScoreRule rule(problem_);
  at.query_position = row + rule.query_position;
  if (rule.hides()) one.sequences = {&at, 1};
  return one;
}

MapObservations LayerRecord::map(int head) const {
  const auto part = [&](const auto& values) { return of_head(values, heads, head); };
  MapObservations map;
  map.rows = rows;
  map.keys = keys;
  map.segments = segments;
  map.top = top;
  map.row_max = part(row_max);
  map.row_sum = part(row_sum);
  map.lse = part(lse);
  map.entropy = part(entropy);
  map.text_entropy = part(text_entropy);
  map.position = part(position);
  map.distance = part(distance);
  map.sink_weight = part(sink_weight);
  map.offset_mass = part(offset_mass);
  map.segment_mass = part(segment_mass);
  map.key_mass = part(key_mass);
  map.top_index = part(top_index);
  map.top_weight = part(top_weight);
  return map;
}

LayerRecord LayerRecord::bare() const {
  LayerRecord copy;
  copy.kind = kind;
  copy.layer = layer;
  copy.kept = false;
  copy.rule = rule;
  copy.heads = heads;
  copy.rows = rows;
  copy.keys = keys;
  copy.segments = segments;
  copy.top = top;
  return copy;
}

std::size_t LayerRecord::bytes() const {
  std::size_t numbers = top_index.capacity();
  for (const auto* values : {&row_max, &row_sum, &lse, &entropy, &text_entropy, &position, &distance, &sink_weight,
                             &offset_mass, &segment_mass, &key_mass, &top_weight}) {
    numbers += values->capacity();
  }
  return 4 * (numbers + rule.sinks.capacity()) + stored.bytes() + pyramid.bytes();
}

Observations Capture::request(const model::LayerAttention& call) {
  require_storable(call.problem);
  LayerRecord& record = records_.emplace_back();
  record.kind = call.kind;
  record.layer = call.layer + 1;
  record.kept = options_.keep_layers.empty() || std::ranges::count(options_.keep_layers, record.layer) > 0;
  record.heads = call.problem.q.shape[1];
  record.rows = call.problem.q.shape[2];
  record.keys = call.problem.k.shape[2];
  record.segments = options_.segments->count();
  record.top = options_.top;
  record.rule = ScoreRule(call.problem);
  allocate(record);
  options_.progress->begin_step();
  return observations_of(record, options_.segments->of_token);
}

void Capture::done(const model::LayerAttention& call) {
  LayerRecord& record = records_.back();
  options_.progress->begin_step();
  observe_text_entropy(call.problem, record);
  for (int head = 1; head <= record.heads; ++head) {
    summaries_.push_back(summarise(record.map(head), record.rule, options_.segments->of_token));
  }
  if (record.kept) {
    record.stored = StoredProblem(call.problem);
  } else {
    record = record.bare();
  }
}

// The same attention with all keys but those of text hidden, and without sinks, so that the rest is renormalised by the
// softmax itself. Taking the
// special keys' part out of the whole row's entropy instead would cancel all digits where they hold nearly all the
// weight.
void Capture::observe_text_entropy(const AttentionProblem& whole, LayerRecord& record) const {
  std::vector<std::uint8_t> text_keys;
  for (const std::int32_t segment : options_.segments->of_token) text_keys.push_back(is_text(segment));
  AttentionProblem problem = whole;
  problem.sinks = {};
  const std::array<std::int64_t, 4> shape = {1, 1, 1, record.keys};
  problem.mask = {text_keys.data(), DType::boolean, shape, dense_strides(shape)};
  Observations see;
  see.entropy = record.text_entropy.data();
  attention(problem, {}, see, {.threads = options_.threads, .progress = options_.progress->hook()});
}

}  // namespace sightline::engine
