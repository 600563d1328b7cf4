#include "tests/attention/row_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sightline::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kHuge = 1e30;  // the lowest float, and what is about as large, is looked at on its own

double length(const Operand& operand, std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t width) {
  double squares = 0;
  for (std::int64_t d = 0; d < width; ++d) squares += std::pow(operand.magnitude(b, h, j, d), 2);
  return std::sqrt(squares);
}

// |scale| |q| |k|
double product(const RandomProblem& random, const reference::Query& query, std::int64_t n) {
  const AttentionProblem& p = random.problem();
  const std::int64_t width = p.q.shape[3];
  const double scale = std::abs(p.scale ? *p.scale : 1 / std::sqrt(static_cast<double>(width)));
  return scale * length(random.q(), query.b, query.h, query.i, width) *
         length(random.k(), key_plane(p, query), query.kv_head, query.first_key + n, width);
}

// The most that is added to the score of key n.
double added(const AttentionProblem& p, const reference::Query& query, std::int64_t n) {
  double sum = 0;
  const double bias = p.bias ? reference::at(p.bias, query.b, query.h, query.i, query.first_key + n) : 0;
  if (std::abs(bias) < kHuge) sum += std::abs(bias);
  float most = 0;
  for (const float entry : p.relative_bias.table) most = std::max(most, std::abs(entry));
  if (p.alibi_slopes.empty()) return sum + most;
  const auto distance = std::abs(reference::position_of_key(p, query, n) - query.position);
  return sum + most + std::abs(p.alibi_slopes[query.h]) * static_cast<double>(distance);
}

// What a row's visible keys reach.
struct Reach {
  double product = 0, added = 0, largest = 0, lowest = kInf;
};

Reach reach_of(const RandomProblem& random, const reference::Query& query, const double* scores) {
  Reach reach;
  for (std::int64_t n = 0; n < query.key_count; ++n) {
    const double x = scores[query.first_key + n];
    if (x == -kInf) continue;
    reach.product = std::max(reach.product, product(random, query, n));
    reach.added = std::max(reach.added, added(random.problem(), query, n));
    if (std::abs(x) < kHuge) reach.largest = std::max(reach.largest, std::abs(x));
    reach.lowest = std::min(reach.lowest, x);
  }
  return reach;
}

double chain_bound(const AttentionProblem& p, double product) {
  const double cap = p.softcap > 0 ? 16 * std::min<double>(p.softcap, product) : 0;
  return kUnit * ((static_cast<double>(p.q.shape[3]) + 6 + 12) * product + cap);
}

RowBounds bounds_of(const RandomProblem& random, const reference::Query& query, std::size_t row,
                    const reference::Result& expected) {
  const AttentionProblem& p = random.problem();
  const std::int64_t keys = p.k.shape[2];
  const Reach reach = reach_of(random, query, expected.scores.data() + row * keys);
  RowBounds bound;
  bound.nan = std::isnan(expected.lse[row]);
  if (reach.lowest == kInf) return bound;  // no visible key: exact
  bound.score = chain_bound(p, reach.product) + kUnit * (4 * reach.largest + 6 * reach.added) + 1e-37;
  if (p.score_function != nullptr) bound.score += kUnit * 8 * (reach.largest + reach.added + reach.product + 4);
  const double max = expected.row_max[row];
  if (std::abs(max) > kHuge) bound.score = 4e31 * 0x1p-2;  // about the lowest float: an ulp of it is 2e31
  const double top = p.sinks.empty() ? max : std::max<double>(max, p.sinks[query.h]);
  // Beyond 88 below the maximum a weight is 0 in fp32, whatever its error.
  const double spread = std::min(88.0, top - reach.lowest), blocks = static_cast<double>(keys) / 64 + 3;
  bound.weight = std::expm1(2 * std::min(bound.score, 40.0)) + kUnit * (16 * spread + 16 * blocks + 96);
  return bound;
}

}  // namespace

std::vector<RowBounds> row_bounds(const RandomProblem& random, const reference::Result& expected) {
  const auto [batch, heads, queries, width] = random.problem().q.shape;
  std::vector<RowBounds> bounds;
  for (std::int64_t row = 0; row < batch * heads * queries; ++row) {
    const std::int64_t plane = row / queries;
    const auto query = reference::locate(random.problem(), plane / heads, plane % heads, row % queries);
    bounds.push_back(bounds_of(random, query, row, expected));
  }
  return bounds;
}

double raw_score_bound(const RandomProblem& random, const reference::Query& query, std::int64_t n) {
  return chain_bound(random.problem(), product(random, query, n)) + 1e-37;
}

double value_length(const RandomProblem& random, const reference::Query& query, std::int64_t n) {
  return length(random.v(), key_plane(random.problem(), query), query.kv_head, query.first_key + n,
                random.problem().v.shape[3]);
}

}  // namespace sightline::testing
