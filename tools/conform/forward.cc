#include "tools/conform/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sightline::conform {
namespace {

// An fp32 view without its batch axis.
Array copy_heads(const TensorView& view) {
  const auto [batch, heads, rows, width] = view.shape;
  Array copy{{heads, rows, width}, {}};
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        const std::int64_t at = h * view.strides[1] + i * view.strides[2] + d * view.strides[3];
        copy.values.push_back(static_cast<const float*>(view.data)[at]);
      }
    }
  }
  return copy;
}

// Keeps what attention is given, and asks for every row of every map.
class MapCollector : public model::AttentionObserver {
 public:
  Observations request(const model::LayerAttention& call) override {
    const auto& q = call.problem.q.shape;
    const std::int64_t keys = call.problem.k.shape[2];
    rows_.resize(q[2]);
    std::iota(rows_.begin(), rows_.end(), 0);
    weights_.assign(q[1] * q[2] * keys, 0);
    shape_ = {q[1], q[2], keys};
    Observations see;
    see.rows = rows_;
    see.row_weights = weights_.data();
    return see;
  }

  void done(const model::LayerAttention& call) override {
    const auto layer = static_cast<std::size_t>(call.layer);
    if (layers.size() <= layer) layers.resize(layer + 1);
    SeenLayer& seen = layers[layer];
    seen.queries.push_back(copy_heads(call.problem.q));
    seen.keys.push_back(copy_heads(call.problem.k));
    seen.values.push_back(copy_heads(call.problem.v));
    seen.maps.push_back({shape_, {weights_.begin(), weights_.end()}});
  }

  std::vector<SeenLayer> layers;

 private:
  std::vector<std::int64_t> rows_;
  std::vector<float> weights_;
  Shape shape_;
};

std::vector<std::int32_t> integers(const format::Tensor& tensor) {
  const Array array = to_array(tensor);
  return {array.values.begin(), array.values.end()};
}

}  // namespace

Batch::Batch(const format::Tensor& ids, const format::Tensor* mask, const format::Tensor* types)
    : padded_(ids.shape.at(1)), ids_(integers(ids)) {
  std::vector<std::uint8_t> real(ids_.size(), 1);
  if (mask != nullptr) std::ranges::copy(integers(*mask), real.begin());
  if (types != nullptr) types_ = integers(*types);
  sequences_ = model::unpadded(ids_, real, padded_);
  for (model::TokenSequence& sequence : sequences_) {
    const auto begin = static_cast<std::size_t>(sequence.ids.data() - ids_.data());
    if (types != nullptr) sequence.type_ids = std::span(types_).subspan(begin, sequence.ids.size());
  }
}

std::int64_t Batch::first(std::size_t sequence) const { return (ids(sequence).data() - ids_.data()) % padded_; }

Array Batch::real_rows(const Array& padded) const {
  const std::int64_t length = padded.shape.at(1), width = padded.shape.at(2);
  Array rows{{0, width}, {}};
  for (std::size_t s = 0; s < size(); ++s) {
    const auto begin = padded.values.begin() + (static_cast<std::int64_t>(s) * length + first(s)) * width;
    rows.values.insert(rows.values.end(), begin, begin + this->length(s) * width);
    rows.shape[0] += this->length(s);
  }
  return rows;
}

Forward run_forward(const model::Transformer& transformer, const Batch& batch, bool want_logits) {
  MapCollector collector;
  model::ForwardOptions options;
  options.observer = &collector;
  options.keep_hidden_states = true;
  if (want_logits) options.logits = model::LogitRows::all;
  Forward forward{transformer.forward(batch.sequences(), options), {}};
  forward.layers = std::move(collector.layers);
  return forward;
}

Tolerance of_largest(const Array& expected, double relative) {
  double largest = 1;
  for (const double value : expected.values) largest = std::max(largest, std::abs(value));
  return {relative * largest};
}

void check_heads(std::string_view what, const std::vector<Array>& heads, const Batch& batch, const Array& expected,
                 double tolerance) {
  const std::int64_t count = expected.shape.at(1), padded = expected.shape.at(2), width = expected.shape.at(3);
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const std::int64_t begin = (static_cast<std::int64_t>(s) * count * padded + batch.first(s)) * width;
    const Slice real{begin, {count, batch.length(s), width}, {padded * width, width, 1}};
    expect_close(fmt::format("{} of sequence {}", what, s), heads.at(s), take(expected, real), {tolerance});
  }
}

void check_maps(std::string_view what, const std::vector<Array>& maps, const Batch& batch, const Array& expected,
                double tolerance) {
  const std::int64_t heads = expected.shape.at(1), padded = expected.shape.at(2);
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const std::int64_t length = batch.length(s), map = padded * padded;
    const std::int64_t begin = static_cast<std::int64_t>(s) * heads * map + batch.first(s) * (padded + 1);
    const Slice real{begin, {heads, length, length}, {map, padded, 1}};
    expect_close(fmt::format("{} of sequence {}", what, s), maps.at(s), take(expected, real), {tolerance});
  }
}

}  // namespace sightline::conform
