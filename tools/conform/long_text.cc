// long/index.json: a model on a text of thousands of tokens; statistics of rows and keys, no map.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "src/format/json.h"
#include "tools/conform/forward.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kTop = 4;

// What is seen of one layer, [heads, rows or keys, ...].
struct LayerRows {
  std::vector<float> lse, entropy, key_mass, topk_weight;
  std::vector<std::int32_t> topk_index;
};

class RowCollector : public model::AttentionObserver {
 public:
  Observations request(const model::LayerAttention& call) override {
    const auto count = static_cast<std::size_t>(call.problem.q.shape[1] * call.problem.q.shape[2]);
    LayerRows& rows = layers.emplace_back();
    for (auto* values : {&rows.lse, &rows.entropy, &rows.key_mass}) values->resize(count);
    rows.topk_weight.resize(count * kTop);
    rows.topk_index.resize(count * kTop);
    Observations see;
    see.lse = rows.lse.data();
    see.entropy = rows.entropy.data();
    see.key_mass = rows.key_mass.data();
    see.top_k = kTop;
    see.topk_index = rows.topk_index.data();
    see.topk_weight = rows.topk_weight.data();
    return see;
  }
  void done(const model::LayerAttention&) override {}

  std::vector<LayerRows> layers;
};

// The model and one pass, which every case looks at.
class LongText {
 public:
  LongText(const fs::path& index, json content)
      : directory_(index.parent_path()),
        content_(std::move(content)),
        file_(format::SafetensorsFile::open(directory_ / content_.at("reference").get<std::string>())),
        batch_(file_.at("input_ids"), nullptr, nullptr) {}

  void check_logits() {
    const Array expected = to_array(file_.at("logits"));
    const auto width = static_cast<std::ptrdiff_t>(expected.shape.at(1));
    Array got{expected.shape, {}};
    for (const std::int64_t position : content_.at("positions")) {
      const auto row = run().logits.begin() + position * width;
      got.values.insert(got.values.end(), row, row + width);
    }
    expect_close("logits", got, expected, of_largest(expected, bound("logits_rel")));
  }

  void check_layer(std::size_t layer, const json& heads) {
    run();
    const LayerRows& rows = collector_.layers.at(layer);
    const auto expected = [&](const char* what) { return to_array(file_.at(fmt::format("layer{}.{}", layer, what))); };
    expect_close("lse", of_heads(rows.lse, heads), expected("lse"), {bound("lse_abs")});
    expect_close("entropy", of_heads(rows.entropy, heads), expected("entropy"), {bound("entropy_abs")});
    const Array mass = expected("key_mass");
    expect_close("key_mass", of_heads(rows.key_mass, heads), mass, {bound("key_mass_rel"), bound("key_mass_rel")});
    check_top(of_heads(rows.topk_index, heads, kTop), of_heads(rows.topk_weight, heads, kTop), expected("topk_index"),
              expected("topk_weight"));
  }

 private:
  double bound(const char* name) const { return content_.at("tolerance").at(name); }

  const model::ForwardResult& run() {
    if (result_) return *result_;
    model::ForwardOptions options;
    options.observer = &collector_;
    options.logits = model::LogitRows::all;
    const auto name = content_.at("model").get<std::string>();
    result_ = model::Transformer::load(directory_ / name).forward(batch_.sequences(), options);
    return *result_;
  }

  // The part of [all heads, rows, width] that belongs to `heads`.
  template <class T>
  Array of_heads(const std::vector<T>& values, const json& heads, std::int64_t width = 1) const {
    const std::int64_t rows = batch_.length(0);
    Array part{{static_cast<std::int64_t>(heads.size()), rows}, {}};
    if (width > 1) part.shape.push_back(width);
    for (const std::int64_t head : heads) {
      const auto begin = values.begin() + head * rows * width;
      part.values.insert(part.values.end(), begin, begin + rows * width);
    }
    return part;
  }

  // An index may be another where its weight is as large within the bound.
  void check_top(const Array& index, const Array& weight, const Array& expected_index, const Array& expected_weight) {
    const double close = bound("topk_weight_abs");
    expect_close("topk_weight", weight, expected_weight, {close});
    std::int64_t other = 0;
    for (std::size_t i = 0; i < index.values.size(); ++i) {
      if (index.values[i] == expected_index.values[i]) continue;
      ++other;
      const std::size_t row = i / kTop * kTop;
      const auto has_close = [&](std::size_t slot) {
        return slot != i && std::abs(expected_weight.values[slot] - expected_weight.values[i]) <= 2 * close;
      };
      const bool last = i == row + kTop - 1;  // its rival may be the fifth key
      expect(last || has_close(row) || has_close(row + 1) || has_close(row + 2) || has_close(row + 3),
             fmt::format("topk_index: slot {} of row {}: expected key {}, got {}", i - row, row / kTop,
                         expected_index.values[i], index.values[i]));
    }
    expect(other * 100 < static_cast<std::int64_t>(index.values.size()),
           fmt::format("topk_index: {} of {} are others", other, index.values.size()));
  }

  fs::path directory_;
  json content_;
  format::SafetensorsFile file_;
  Batch batch_;
  RowCollector collector_;
  std::optional<model::ForwardResult> result_;
};

}  // namespace

void run_long_text(Context& context, const fs::path& index, const std::string& prefix) {
  const json content = format::read_json(index);
  LongText text(index, content);
  context.recorder.run(prefix + "/logits", [&] { text.check_logits(); });
  for (const auto& entry : content.at("heads").items()) {
    context.recorder.run(prefix + "/layer" + entry.key(),
                         [&] { text.check_layer(std::stoul(entry.key()), entry.value()); });
  }
}

}  // namespace sightline::conform
