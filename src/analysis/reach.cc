#include "src/analysis/reach.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/cpu/parallel.h"

namespace sightline::analysis {
namespace {

constexpr double kRounding = 1e-6;  // of fp32 weights: a share that is met but for this is met

void add_to(const std::vector<double>& from, std::vector<double>& to) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

// `counted` [Nk]: 1 for keys that are text, else 0.
void add_row(const float* weights, const TileRange& range, std::int64_t position, const std::vector<float>& counted,
             Reach& reach) {
  for (std::int64_t key = range.key_begin; key < range.key_end; ++key) {
    const float weight = weights[key - range.key_begin];
    const auto distance = static_cast<std::size_t>(std::abs(key - position));
    reach.all.weight[distance] += weight;
    reach.text.weight[distance] += weight * counted[static_cast<std::size_t>(key)];
  }
}

std::int64_t tiles(std::int64_t rows, std::int64_t keys) {
  const std::int64_t step = tile_rows(keys);
  return (rows + step - 1) / step;
}

}  // namespace

double Distances::total() const { return std::accumulate(weight.begin(), weight.end(), 0.0); }

double Distances::mean() const {
  double sum = 0;
  for (std::size_t d = 0; d < weight.size(); ++d) sum += static_cast<double>(d) * weight[d];
  const double all = total();
  return all > 0 ? sum / all : std::numeric_limits<double>::quiet_NaN();
}

double Distances::within(double share) const {
  const double all = total(), wanted = (share - kRounding) * all;
  if (!(all > 0)) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  std::size_t d = 0;
  while (d + 1 < weight.size() && (sum += weight[d]) < wanted) ++d;
  return static_cast<double>(d);
}

double Distances::share(std::int64_t distance) const {
  const auto end = std::min(std::ssize(weight), distance + 1);
  const double all = total();
  return all > 0 ? std::accumulate(weight.begin(), weight.begin() + end, 0.0) / all
                 : std::numeric_limits<double>::quiet_NaN();
}

void Distances::add(const Distances& other) { add_to(other.weight, weight); }

void Reach::add(const Reach& other) {
  rows += other.rows;
  all.add(other.all);
  text.add(other.text);
}

Reach head_reach(const AttentionProblem& problem, const RowState& state, std::int64_t head,
                 const std::vector<bool>& text, TileProgress& progress) {
  const std::int64_t rows = problem.q.shape[2], keys = problem.k.shape[2], step = tile_rows(keys);
  Reach reach;
  reach.all.weight.resize(static_cast<std::size_t>(keys));
  reach.text.weight.resize(static_cast<std::size_t>(keys));
  const std::vector<float> counted(text.begin(), text.end());
  std::vector<float> weights;
  for (std::int64_t row_begin = 0; row_begin < rows; row_begin += step) {
    const TileRange range = tile_of(problem, head, row_begin, std::min(row_begin + step, rows));
    const std::int64_t seen = range.key_end - range.key_begin;
    weights.resize(static_cast<std::size_t>((range.row_end - row_begin) * seen));
    tile(problem, state, range, Stage::weights, weights.data());
    for (std::int64_t row = row_begin; row < range.row_end; ++row) {
      const std::int64_t position = row + keys - rows;
      if (!text[static_cast<std::size_t>(position)]) continue;
      ++reach.rows;
      add_row(weights.data() + (row - row_begin) * seen, range, position, counted, reach);
    }
    progress.advance();
  }
  return reach;
}

std::vector<Reach> layer_reach(const AttentionProblem& problem, const std::vector<bool>& text, int threads,
                               Progress* progress) {
  const std::int64_t heads = problem.q.shape[1], rows = problem.q.shape[2];
  std::vector<float> max(static_cast<std::size_t>(heads * rows)), sum(max.size());
  Observations see;
  see.row_max = max.data();
  see.row_sum = sum.data();
  attention(problem, {}, see, {.threads = threads});
  std::vector<Reach> all(static_cast<std::size_t>(heads));
  TileProgress tiles_done(progress, heads * tiles(rows, problem.k.shape[2]));
  cpu::parallel_for(heads, threads, [&](std::int64_t head) {
    all[static_cast<std::size_t>(head)] = head_reach(problem, {max.data(), sum.data()}, head, text, tiles_done);
  });
  return all;
}

Reach even_reach(const AttentionProblem& problem, const std::vector<bool>& text, int threads, Progress* progress) {
  const EvenProblem even(problem);
  AttentionProblem one = even.problem();
  one.q.shape[1] = one.k.shape[1] = one.v.shape[1] = 1;
  return layer_reach(one, text, threads, progress).front();
}

}  // namespace sightline::analysis
