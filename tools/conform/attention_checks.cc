#include "tools/conform/attention_checks.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/conform/recorder.h"

namespace sightline::conform {
namespace {

constexpr double kNegligible = 1e-30;

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

void check_topk(const AttentionValues& got, const Array& index, const Array& weight, const Tolerance& tolerance) {
  expect_close("topk_weight", got.topk_weight, weight, tolerance);
  const std::int64_t top_k = weight.shape[3], keys = got.weights.shape[3];
  for (std::size_t i = 0; i < got.topk_index.size(); ++i) {
    const std::int64_t got_key = got.topk_index[i], key = static_cast<std::int64_t>(index.values[i]);
    if (got_key == key || (got.topk_weight.values[i] < kNegligible && weight.values[i] < kNegligible)) continue;
    const std::string where =
        fmt::format("topk_index[row {}, place {}]: expected {}, got {}", i / top_k, i % top_k, key, got_key);
    expect(got_key >= 0 && key >= 0 && got_key < keys, where);
    const double* row = got.weights.values.data() + i / top_k * keys;
    expect(std::abs(row[got_key] - row[key]) <= tolerance.absolute, where + ", whose weight is another");
  }
}

void check_consistency(const AttentionValues& got) {
  const std::int64_t keys = got.weights.shape[3], top_k = got.topk_weight.shape[3];
  for (std::size_t i = 0; i < got.weights.values.size(); ++i) {
    const double tile = got.weights.values[i], row = got.row_weights.values[i];
    expect(same_number(tile, row),
           fmt::format("chosen row {}, key {}: expected the tile's {:.9g}, got {:.9g}", i / keys, i % keys, tile, row));
  }
  for (std::size_t i = 0; i < got.topk_index.size(); ++i) {
    if (got.topk_index[i] < 0) continue;
    const double tile = got.weights.values.at(i / top_k * keys + got.topk_index[i]);
    expect(same_number(tile, got.topk_weight.values[i]),
           fmt::format("topk_weight[row {}, place {}]: expected the tile's {:.9g}, got {:.9g}", i / top_k, i % top_k,
                       tile, got.topk_weight.values[i]));
  }
}

}  // namespace sightline::conform
