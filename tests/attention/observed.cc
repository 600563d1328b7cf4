#include "tests/attention/observed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace sightline::testing {
namespace {

constexpr float kUnwritten = 7.5e8f;
constexpr std::size_t kMassChains = 16;

std::int64_t between(std::mt19937_64& random, std::int64_t from, std::int64_t to) {
  return std::uniform_int_distribution<std::int64_t>(from, std::max(from, to))(random);
}

}  // namespace

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

ObservationRecipe ObservationRecipe::any(const AttentionProblem& problem, std::mt19937_64& random) {
  const std::int64_t batch = problem.q.shape[0], queries = problem.q.shape[2], keys = problem.k.shape[2];
  ObservationRecipe recipe;
  recipe.top_k = static_cast<int>(between(random, 1, between(random, 0, 3) == 0 ? 64 : 6));
  recipe.offsets = {-1, 0, 1};
  for (std::int64_t n = between(random, 0, 3); n > 0; --n)
    recipe.offsets.push_back(between(random, -keys - 3, keys + 3));
  if (between(random, 0, 1) == 1) {
    recipe.mass_row_begin = between(random, 0, queries + 2);
    recipe.mass_row_end = between(random, recipe.mass_row_begin, queries + 4);
  }
  recipe.segments = static_cast<std::int32_t>(between(random, 1, 5));
  recipe.segment_of_key.resize(between(random, 0, 1) == 1 ? batch * keys : keys);
  for (auto& segment : recipe.segment_of_key)
    segment = static_cast<std::int32_t>(between(random, -1, recipe.segments - 1));
  recipe.overview_rows = between(random, 1, std::clamp<std::int64_t>(queries, 1, 9));
  recipe.overview_cols = between(random, 1, std::clamp<std::int64_t>(keys, 1, 9));
  if (between(random, 0, 2) == 0) {
    recipe.overview_step = between(random, std::max<std::int64_t>(1, std::max(queries, keys) / 9), 70);
    const auto bins = [&](std::int64_t items) {
      return std::max<std::int64_t>(1, (items - 1) / recipe.overview_step + 1);
    };
    recipe.overview_rows = bins(queries);
    recipe.overview_cols = bins(keys);
  }
  for (std::int64_t n = between(random, 0, 3); n > 0 && queries > 0; --n)
    recipe.rows.push_back(between(random, 0, queries - 1));
  if (between(random, 0, 11) == 0) recipe.measure = Measure::value_weight;
  recipe.sinks = !problem.sinks.empty() || between(random, 0, 19) == 0;
  recipe.running = between(random, 0, 11) == 0 && problem.cu_seqlens_q.empty();
  if (!recipe.running) return recipe;
  recipe.mass_decay = between(random, 0, 1) == 0 ? 1 : static_cast<float>(between(random, 2, 9)) / 10;
  recipe.mass_row_begin = 0;
  recipe.mass_row_end = INT64_MAX;
  return recipe;
}

Observed::Observed(const AttentionProblem& problem, const ObservationRecipe& recipe, Strided<float> output)
    : out(std::move(output)) {
  const std::size_t planes = problem.q.shape[0] * problem.q.shape[1], rows = planes * problem.q.shape[2];
  for (auto* values : {&row_max, &row_sum, &lse, &entropy, &position, &distance}) values->assign(rows, kUnwritten);
  topk_index.assign(rows * recipe.top_k, -2);
  topk_weight.assign(rows * recipe.top_k, kUnwritten);
  offset_mass.assign(rows * recipe.offsets.size(), kUnwritten);
  segment_mass.assign(rows * recipe.segments, kUnwritten);
  const bool packed = !problem.cu_seqlens_q.empty(), packed_keys = !problem.cu_seqlens_k.empty();
  const std::size_t sequences = packed ? problem.cu_seqlens_q.size() - 1 : problem.q.shape[0];
  const std::size_t heads = problem.q.shape[1], key_planes = packed && packed_keys ? heads : sequences * heads;
  key_mass.assign(key_planes * problem.k.shape[2], kUnwritten);
  overview.assign(sequences * heads * recipe.overview_rows * recipe.overview_cols, kUnwritten);
  row_weights.assign(planes * recipe.rows.size() * problem.k.shape[2], kUnwritten);
  if (recipe.sinks) sink_weight.assign(rows, kUnwritten);
  if (recipe.sinks) entropy_with_sink.assign(rows, kUnwritten);
  mass_sums_keys_ = problem.k.shape[2];
  if (recipe.running) mass_sums.assign(key_mass.size() * kMassChains, 0);
}

Observed::Observed(const AttentionProblem& problem, const ObservationRecipe& recipe, Strided<float> output, int threads)
    : Observed(problem, recipe, std::move(output)) {
  attention(problem, out.mutable_view(), request(recipe), {threads});
}

Observations Observed::request(const ObservationRecipe& recipe) {
  Observations see;
  see.row_max = row_max.data();
  see.row_sum = row_sum.data();
  see.lse = lse.data();
  see.entropy = entropy.data();
  see.position = position.data();
  see.distance = distance.data();
  see.top_k = recipe.top_k;
  see.topk_index = topk_index.data();
  see.topk_weight = topk_weight.data();
  see.offsets = recipe.offsets;
  see.offset_mass = offset_mass.data();
  see.key_mass = key_mass.data();
  see.mass_row_begin = recipe.mass_row_begin;
  see.mass_row_end = recipe.mass_row_end;
  see.segment_of_key = recipe.segment_of_key;
  see.segments = recipe.segments;
  see.segment_mass = segment_mass.data();
  see.overview_rows = recipe.overview_rows;
  see.overview_cols = recipe.overview_cols;
  see.overview_step = recipe.overview_step;
  see.overview = overview.data();
  see.rows = recipe.rows;
  see.row_weights = row_weights.data();
  see.measure = recipe.measure;
  if (recipe.sinks) see.sink_weight = sink_weight.data();
  if (recipe.sinks) see.entropy_with_sink = entropy_with_sink.data();
  if (recipe.running) see.mass_sums = mass_sums.data();
  see.mass_sums_keys = mass_sums_keys_;
  see.mass_decay = recipe.mass_decay;
  return see;
}

std::vector<std::pair<const char*, const std::vector<float>*>> Observed::arrays() const {
  return {{"row_max", &row_max},
          {"row_sum", &row_sum},
          {"lse", &lse},
          {"entropy", &entropy},
          {"position", &position},
          {"distance", &distance},
          {"topk_weight", &topk_weight},
          {"key_mass", &key_mass},
          {"offset_mass", &offset_mass},
          {"segment_mass", &segment_mass},
          {"overview", &overview},
          {"row_weights", &row_weights},
          {"sink_weight", &sink_weight},
          {"entropy_with_sink", &entropy_with_sink},
          {"mass_sums", &mass_sums}};
}

std::string Observed::difference(const Observed& other) const {
  const std::int64_t h = out.shape()[1], n = out.shape()[2], d = out.shape()[3];
  for (std::int64_t i = 0; i < out.shape()[0] * h * n * d; ++i) {
    const std::int64_t plane = i / d / n;
    const auto element = [&](const Observed& one) { return one.out.at(plane / h, plane % h, i / d % n, i % d); };
    if (!same_bits(element(*this), element(other))) return "out, element " + std::to_string(i);
  }
  const auto mine = arrays(), theirs = other.arrays();
  for (std::size_t a = 0; a < mine.size(); ++a) {
    const auto &x = *mine[a].second, &y = *theirs[a].second;
    const auto differ = std::mismatch(x.begin(), x.end(), y.begin(), y.end(), same_bits);
    if (differ.first != x.end() || differ.second != y.end()) {
      return std::string(mine[a].first) + ", element " + std::to_string(differ.first - x.begin());
    }
  }
  for (std::size_t i = 0; i < topk_index.size(); ++i) {
    const bool nan = std::isnan(topk_weight[i]);  // then the keys mean nothing
    if (!nan && topk_index[i] != other.topk_index[i]) return "topk_index, element " + std::to_string(i);
  }
  return {};
}

std::vector<float> Observed::map(const AttentionProblem& problem, Stage stage) const {
  const auto [batch, heads, queries, width] = problem.q.shape;
  const std::int64_t keys = problem.k.shape[2];
  std::vector<float> all(batch * heads * queries * keys, kUnwritten);
  if (all.empty()) return all;
  for (std::int64_t plane = 0; plane < batch * heads; ++plane) {
    const TileRange range{plane / heads, plane % heads, 0, queries, 0, keys};
    tile(problem, {row_max.data(), row_sum.data()}, range, stage, all.data() + plane * queries * keys);
  }
  return all;
}

}  // namespace sightline::testing
