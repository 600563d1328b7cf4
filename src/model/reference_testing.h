#ifndef SIGHTLINE_MODEL_REFERENCE_TESTING_H_
#define SIGHTLINE_MODEL_REFERENCE_TESTING_H_

// For tests alone: inputs and values of the reference files, and what compares with them.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "src/model/testing.h"

namespace sightline::model {

inline std::vector<std::int64_t> integers(const format::Tensor& tensor) {
  std::vector<std::int64_t> values(tensor.bytes.size() / sizeof(std::int64_t));
  std::ranges::copy(tensor.bytes, std::as_writable_bytes(std::span(values)).begin());  // of which there may be none
  return values;
}

/// Ids of a tensor that holds one text.
inline Text text_of(const format::Tensor& ids) {
  Text text;
  for (std::int64_t id : integers(ids)) text.ids.push_back(static_cast<std::int32_t>(id));
  return text;
}

/// The real tokens of a case of a reference file.
inline std::vector<Text> texts_of(const format::SafetensorsFile& reference, const std::string& prefix) {
  const format::Tensor& ids = reference.at(prefix + "input_ids");
  const std::vector<std::int64_t> all = integers(ids);
  const auto of = [&](const char* name, std::int64_t otherwise) {
    const format::Tensor* found = reference.find(prefix + name);
    return found != nullptr ? integers(*found) : std::vector<std::int64_t>(all.size(), otherwise);
  };
  const std::vector<std::int64_t> real = of("attention_mask", 1), kinds = of("token_type_ids", 0);
  const bool typed = reference.find(prefix + "token_type_ids") != nullptr;
  std::vector<Text> texts(ids.shape[0]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Text& text = texts[i / ids.shape[1]];
    if (real[i] == 0) continue;
    text.ids.push_back(static_cast<std::int32_t>(all[i]));
    if (typed) text.types.push_back(static_cast<std::int32_t>(kinds[i]));
  }
  return texts;
}

inline std::vector<TokenSequence> views(const std::vector<Text>& texts) {
  std::vector<TokenSequence> sequences;
  for (const Text& text : texts) sequences.push_back(text.view());
  return sequences;
}

/// Every weight of every map, through tile() and, so that the two can be compared, through chosen rows.
class MapKeeper : public AttentionObserver {
 public:
  struct Map {
    std::int64_t heads, rows, keys;
    std::vector<float> weights;  // [heads, rows, keys]
  };

  Observations request(const LayerAttention& call) override {
    const auto& shape = call.problem.q.shape;
    for (auto* values : {&max_, &sum_}) values->assign(shape[1] * shape[2], 0);
    row_weights_.assign(shape[1] * shape[2] * call.problem.k.shape[2], 0);
    all_rows_.resize(shape[2]);
    std::iota(all_rows_.begin(), all_rows_.end(), 0);
    Observations see;
    see.row_max = max_.data();
    see.row_sum = sum_.data();
    see.rows = all_rows_;
    see.row_weights = row_weights_.data();
    return see;
  }

  void done(const LayerAttention& call) override {
    Map map{call.problem.q.shape[1], call.problem.q.shape[2], call.problem.k.shape[2], {}};
    map.weights.resize(row_weights_.size());
    for (std::int64_t h = 0; h < map.heads; ++h) {
      tile(call.problem, {max_.data(), sum_.data()}, {0, h, 0, map.rows, 0, map.keys}, Stage::weights,
           map.weights.data() + h * map.rows * map.keys);
    }
    EXPECT_EQ(0, std::memcmp(map.weights.data(), row_weights_.data(), map.weights.size() * sizeof(float)));
    EXPECT_EQ(static_cast<int>(maps.size()) - 1 + (call.sequence == 0 ? 1 : 0), call.layer);
    if (call.sequence == 0) maps.emplace_back();
    EXPECT_EQ(static_cast<int>(maps.back().size()), call.sequence);
    maps.back().push_back(std::move(map));
  }

  std::vector<std::vector<Map>> maps;  // by layer and sequence

 private:
  std::vector<float> max_, sum_, row_weights_;
  std::vector<std::int64_t> all_rows_;
};

/// Largest difference between the maps of a layer and a padded reference [batch, heads, n, n]; also checks that there
/// are as many heads. `left`: the padding of each sequence is on its left.
inline double map_difference(const std::vector<MapKeeper::Map>& maps, const format::Tensor& reference,
                             bool left = false) {
  const std::vector<float> expected = format::to_f32(reference);
  const std::int64_t padded = reference.shape[3];
  double worst = 0;
  for (std::size_t s = 0; s < maps.size(); ++s) {
    const MapKeeper::Map& map = maps[s];
    EXPECT_EQ(reference.shape[1], map.heads);
    const std::int64_t pad = left ? padded - map.keys : 0;
    for (std::int64_t row = 0; row < map.heads * map.rows; ++row) {
      const std::int64_t h = row / map.rows, i = row % map.rows;
      const float* want = &expected[((s * map.heads + h) * padded + i + pad) * padded + pad];
      for (std::int64_t j = 0; j < map.keys; ++j) {
        worst = std::max(worst, static_cast<double>(std::abs(want[j] - map.weights[row * map.keys + j])));
      }
    }
  }
  return worst;
}

/// Largest difference of packed rows from a padded reference [batch, n, width].
inline double row_difference(const ForwardResult& result, const std::vector<float>& rows,
                             const format::Tensor& reference) {
  const std::vector<float> expected = format::to_f32(reference);
  const std::int64_t padded = reference.shape[1], width = reference.shape[2];
  EXPECT_EQ(static_cast<std::size_t>(result.row_begin.back() * width), rows.size());
  double worst = 0;
  for (std::size_t s = 0; s + 1 < result.row_begin.size(); ++s) {
    const float* got = rows.data() + result.row_begin[s] * width;
    const std::int64_t count = (result.row_begin[s + 1] - result.row_begin[s]) * width;
    for (std::int64_t i = 0; i < count; ++i) {
      worst = std::max(worst, static_cast<double>(std::abs(expected[s * padded * width + i] - got[i])));
    }
  }
  return worst;
}

/// Tolerances are relative to max(1, largest).
inline double largest(const format::Tensor& tensor) {
  double value = 1;
  for (float v : format::to_f32(tensor)) value = std::max(value, static_cast<double>(std::abs(v)));
  return value;
}

inline std::int32_t best_of(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// The greedy continuation of a text, by one context.
inline std::vector<std::int32_t> generate(const Transformer& transformer, const Text& prompt, std::size_t count) {
  Context context = transformer.make_context(static_cast<std::int64_t>(prompt.ids.size() + count));
  std::vector<std::int32_t> tokens, next = prompt.ids;
  while (tokens.size() < count) {
    const TokenSequence text{next, {}, &context};
    next = {best_of(transformer.forward({&text, 1}, {.logits = LogitRows::last}).logits)};
    tokens.push_back(next[0]);
  }
  return tokens;
}

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_REFERENCE_TESTING_H_
