#include "src/analysis/lost_mass.h"

#include <algorithm>
#include <cmath>

namespace sightline::analysis {

LostMass lost_mass(std::span<const float> full, std::span<const float> part) {
  LostMass lost;
  double rows = 0;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full[i] == -INFINITY) continue;
    // Both are rounded: a row that loses nothing may come out a hair below 0.
    const double row = std::max(0.0, -std::expm1(static_cast<double>(part[i]) - static_cast<double>(full[i])));
    lost.mean += row;
    lost.worst = std::max(lost.worst, row);
    rows += 1;
  }
  if (rows > 0) lost.mean /= rows;
  return lost;
}

std::vector<float> row_lse(const AttentionProblem& problem, int threads, Progress* progress) {
  std::vector<float> lse(static_cast<std::size_t>(problem.q.shape[0] * problem.q.shape[1] * problem.q.shape[2]));
  Observations see;
  see.lse = lse.data();
  AttentionOptions options;
  options.threads = threads;
  options.progress = progress;
  attention(problem, {}, see, options);
  return lse;
}

MassObserver::MassObserver(std::int64_t tokens, bool causal, const PatternSizes& sizes, int threads,
                           StudyProgress& progress, double work)
    : threads_(threads), progress_(progress), work_(work) {
  for (const PatternKind kind : kPatterns) {
    if (kind != PatternKind::full) patterns_.emplace_back(kind, tokens, causal, sizes);
  }
}

Observations MassObserver::request(const model::LayerAttention&) {
  progress_.begin(work_);
  return {};
}

std::vector<float> MassObserver::next_lse(const AttentionProblem& problem) {
  progress_.begin(work_);
  return row_lse(problem, threads_, progress_.hook());
}

void MassObserver::done(const model::LayerAttention& call) {
  const std::vector<float> full = next_lse(call.problem);
  std::vector<LostMass> layer;
  for (const KeyPattern& pattern : patterns_) {
    layer.push_back(lost_mass(full, next_lse(pattern.restricted(call.problem))));
  }
  layers_.push_back(std::move(layer));
}

}  // namespace sightline::analysis
