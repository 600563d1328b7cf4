#ifndef SIGHTLINE_ANALYSIS_TALLY_H_
#define SIGHTLINE_ANALYSIS_TALLY_H_

#include <cstdint>

namespace sightline::analysis {

/// What a head said to one question.
struct Answer {
  bool right = false;
  double weight = 0;       // on what is right
  double baseline = 0;     // 1 where the baseline answers right, 0 where not; of a guess its chance
  double even_weight = 0;  // what a head that looks evenly would have there; 0 where that is not asked
};

/// Sums over the questions of a role, of one head.
struct Tally {
  double questions = 0, right = 0, weight = 0;
  double gain = 0, gain_squares = 0;      // of right (0 or 1) over the baseline
  double excess = 0, excess_squares = 0;  // of the weight over an even look's

  void add(const Answer& answer);
  void add(const Tally& other);

  // Shares and means; 0 where nothing was asked.
  double score() const { return mean(right); }
  double mean_weight() const { return mean(weight); }
  double baseline() const { return mean(right - gain); }

 private:
  double mean(double sum) const { return questions > 0 ? sum / questions : 0; }
};

/// How many standard errors a gain must have, so that of `heads` heads that have none one or more does so by chance
/// once in twenty times: the normal distribution's quantile at 1 - 0.05 / heads.
double needed_errors(std::int64_t heads);

/// Whether score and weight are over baseline and even look by so many standard errors of the difference, question by
/// question. Two questions more are counted, one for and one against, so that a handful without any difference between
/// them proves nothing (Agresti & Min 2005).
bool beats_baseline(const Tally& tally, double errors);

/// How much of what the baseline leaves undone the head does: (score - baseline) / (1 - baseline). Roles whose
/// baselines differ can be compared by it.
double share_of_rest(const Tally& tally);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_TALLY_H_
