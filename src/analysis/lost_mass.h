#ifndef SIGHTLINE_ANALYSIS_LOST_MASS_H_
#define SIGHTLINE_ANALYSIS_LOST_MASS_H_

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sightline/transformer.h"
#include "src/analysis/patterns.h"
#include "src/analysis/study_progress.h"

namespace sightline::analysis {

/// The weight that full attention gives to keys that a pattern hides, by row.
struct LostMass {
  double mean = 0, worst = 0;
};

/// 1 - exp(part - full) of the log-sum-exps of the rows: exact, as both come from one pass each. Rows of `full` that
/// see nothing are left out; of `part` they have lost all.
LostMass lost_mass(std::span<const float> full, std::span<const float> part);

/// The log-sum-exp of each row, [B, Hq, Nq], without the output.
std::vector<float> row_lse(const AttentionProblem& problem, int threads, Progress* progress);

/// What each pattern but the full one loses in every layer of a pass over one text, mean over its heads and rows.
class MassObserver : public model::AttentionObserver {
 public:
  /// Calls of the kernel a layer: the pass's own, that of full attention and one a pattern.
  static constexpr std::int64_t kCalls = 1 + std::ssize(kPatterns);

  /// work: of a call, for `progress`, which must outlive this.
  MassObserver(std::int64_t tokens, bool causal, const PatternSizes& sizes, int threads, StudyProgress& progress,
               double work);

  Observations request(const model::LayerAttention& call) override;
  void done(const model::LayerAttention& call) override;

  const std::deque<KeyPattern>& patterns() const { return patterns_; }
  /// [layers done][patterns]
  const std::vector<std::vector<LostMass>>& layers() const { return layers_; }

 private:
  std::vector<float> next_lse(const AttentionProblem& problem);

  int threads_;
  StudyProgress& progress_;
  double work_;
  std::deque<KeyPattern> patterns_;
  std::vector<std::vector<LostMass>> layers_;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_LOST_MASS_H_
