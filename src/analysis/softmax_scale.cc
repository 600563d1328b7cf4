#include "src/analysis/softmax_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace sightline::analysis {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add_to(Softness& sum, const Softness& row) {
  sum.entropy += row.entropy;
  sum.gradient += row.gradient;
  sum.saturated += row.saturated;
}

// The scores of one row, [keys].
void read_row(const AttentionProblem& problem, std::int64_t head, std::int64_t row, std::vector<float>& buffer,
              std::vector<double>& scores) {
  TileRange range;
  range.head = head;
  range.row_begin = row;
  range.row_end = row + 1;
  range.key_end = std::ssize(buffer);
  tile(problem, {}, range, Stage::biased, buffer.data());
  std::ranges::copy(buffer, scores.begin());
}

}  // namespace

Softness softness(std::span<const double> scores) {
  const auto best = std::ranges::max_element(scores);
  if (best == scores.end() || *best == -std::numeric_limits<double>::infinity()) return {};
  // Sums over all keys but the largest: 1 - w of that one is their sum, which a difference would not tell from 0 where
  // the softmax saturates.
  double rest = 0, rest2 = 0, rest4 = 0, lost = 0;
  for (auto score = scores.begin(); score != scores.end(); ++score) {
    if (score != best) rest += std::exp(*score - *best);
  }
  const double total = 1 + rest, log_total = std::log1p(rest);
  const double top = 1 / total, others = rest / total;
  double entropy = top * log_total;
  for (auto score = scores.begin(); score != scores.end(); ++score) {
    const double w = score == best ? 0 : std::exp(*score - *best) / total;
    if (w == 0) continue;
    entropy += w * (log_total - (*score - *best));
    rest2 += w * w;
    rest4 += w * w * w * w;
    lost += w * w * (1 - w) * (1 - w);
  }
  // sum of w^2 (1 - w)^2 on the diagonal and of w_i^2 w_j^2 beside it.
  const double beside = 2 * top * top * rest2 + std::max(0.0, rest2 * rest2 - rest4);
  return {entropy, std::sqrt(top * top * others * others + lost + beside), top > kSaturated ? 1.0 : 0.0};
}

void ScaleSums::add(const ScaleSums& more) {
  rows += more.rows;
  add_to(scaled, more.scaled);
  add_to(plain, more.plain);
  dots += more.dots;
  dot += more.dot;
  square += more.square;
}

ScaleSums ScaleSums::mean() const {
  ScaleSums mean = *this;
  const double count = rows > 0 ? static_cast<double>(rows) : 1;
  for (Softness* sum : {&mean.scaled, &mean.plain}) {
    sum->entropy /= count;
    sum->gradient /= count;
    sum->saturated /= count;
  }
  return mean;
}

double ScaleSums::variance() const { return dots > 0 ? square / dots - (dot / dots) * (dot / dots) : 0; }

ScaleSums drawn_scale_sums(std::int64_t d, std::int64_t keys, std::int64_t batches, NormalNumbers& draw) {
  const auto width = static_cast<std::size_t>(d), count = static_cast<std::size_t>(keys);
  std::vector<double> q(width * count), k(width * count), plain(count), scaled(count);
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  ScaleSums sums;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    draw.fill(std::span(q));
    draw.fill(std::span(k));
    for (std::size_t i = 0; i < count; ++i, ++sums.rows) {
      for (std::size_t j = 0; j < count; ++j) {
        plain[j] = dot(std::span(q).subspan(i * width, width), std::span(k).subspan(j * width, width));
        scaled[j] = scale * plain[j];
        sums.dot += plain[j];
        sums.square += plain[j] * plain[j];
      }
      add_to(sums.scaled, softness(scaled));
      add_to(sums.plain, softness(plain));
      sums.dots += static_cast<double>(keys);
    }
  }
  return sums;
}

ScaleSums head_scale_sums(const AttentionProblem& problem, std::int64_t head, std::int64_t rows) {
  AttentionProblem without = problem;
  without.scale = 1.0f;
  const std::int64_t count = problem.q.shape[2], keys = problem.k.shape[2];
  const std::int64_t taken = std::min(rows, count);
  std::vector<float> buffer(static_cast<std::size_t>(keys));
  std::vector<double> scores(static_cast<std::size_t>(keys));
  ScaleSums sums;
  for (std::int64_t i = 1; i <= taken; ++i, ++sums.rows) {
    const std::int64_t row = i * count / taken - 1;
    read_row(problem, head, row, buffer, scores);
    add_to(sums.scaled, softness(scores));
    read_row(without, head, row, buffer, scores);
    add_to(sums.plain, softness(scores));
    for (const double score : scores) {
      if (!std::isfinite(score)) continue;
      sums.dots += 1;
      sums.dot += score;
      sums.square += score * score;
    }
  }
  return sums;
}

}  // namespace sightline::analysis
