#include "tools/conform/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sightline::conform {
namespace {

// Asks for every row of every map.
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
    if (maps.size() <= layer) maps.resize(layer + 1);
    maps[layer].push_back({shape_, {weights_.begin(), weights_.end()}});
  }

  std::vector<std::vector<Array>> maps;

 private:
  std::vector<std::int64_t> rows_;
  std::vector<float> weights_;
  Shape shape_;
};

}  // namespace

Batch::Batch(const format::Tensor& ids, const format::Tensor& mask, const format::Tensor* types) {
  const Array all = to_array(ids), real = to_array(mask);
  const Array kinds = types != nullptr ? to_array(*types) : Array{all.shape, std::vector<double>(all.values.size(), 0)};
  const std::int64_t batch = all.shape.at(0), length = all.shape.at(1);
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto row = [&](const Array& array) { return array.values.begin() + b * length; };
    const auto count = std::count(row(real), row(real) + length, 1);
    ids_.emplace_back(row(all), row(all) + count);
    types_.emplace_back(row(kinds), row(kinds) + count);
  }
}

std::vector<model::TokenSequence> Batch::sequences() const {
  std::vector<model::TokenSequence> sequences;
  for (std::size_t s = 0; s < ids_.size(); ++s) sequences.push_back({ids_[s], types_[s]});
  return sequences;
}

Array Batch::real_rows(const Array& padded) const {
  const std::int64_t length = padded.shape.at(1), width = padded.shape.at(2);
  Array rows{{0, width}, {}};
  for (std::size_t s = 0; s < size(); ++s) {
    const auto begin = padded.values.begin() + static_cast<std::int64_t>(s) * length * width;
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
  options.want_logits = want_logits;
  const auto sequences = batch.sequences();
  Forward forward{transformer.forward(sequences, options), {}};
  forward.maps = std::move(collector.maps);
  return forward;
}

void check_maps(std::string_view what, const std::vector<Array>& maps, const Batch& batch, const Array& expected,
                double tolerance) {
  const std::int64_t heads = expected.shape.at(1), padded = expected.shape.at(2);
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const std::int64_t length = batch.length(s);
    const Slice real{
        static_cast<std::int64_t>(s) * heads * padded * padded, {heads, length, length}, {padded * padded, padded, 1}};
    expect_close(fmt::format("{} of sequence {}", what, s), maps.at(s), take(expected, real), {tolerance});
  }
}

}  // namespace sightline::conform
