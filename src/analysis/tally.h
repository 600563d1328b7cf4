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

/// How far one thing is over another, summed over questions. Questions of one text are not independent of each other,
/// so that squares are kept of both: of questions and of sums of a text.
struct Gain {
  double sum = 0, squares = 0;
  double text_squares = 0, text_products = 0;  // of a text's sum; of it and the text's questions

  void add(double gain) {
    sum += gain;
    squares += gain * gain;
  }
};

/// Sums over the questions of a role, of one head.
struct Tally {
  double questions = 0, right = 0, weight = 0, rule = 0, even = 0;
  double texts = 0, text_squares = 0;  // squares of questions of a text
  Gain over_rule;                      // of right (0 or 1) over the baseline's rule
  Gain over_even;                      // of right over an even look
  Gain excess;                         // of the weight over an even look's

  /// Answers about one text go into a tally of their own, and that with add_text() into the tally of all.
  void add(const Answer& answer);
  void add_text(const Tally& text);
  void add(const Tally& other);

  // Shares and means; 0 where nothing was asked.
  double score() const { return mean(right); }
  double mean_weight() const { return mean(weight); }
  double baseline() const { return mean(rule > even ? rule : even); }  // the better one of these questions

 private:
  double mean(double sum) const { return questions > 0 ? sum / questions : 0; }
};

/// How many standard errors a gain must have, so that of `heads` heads that have none one or more does so by chance
/// once in twenty times: the quantile at 1 - 0.05 / heads of Student's distribution for so many texts, or of the normal
/// one.
double needed_errors(std::int64_t heads);
double needed_errors(std::int64_t heads, std::int64_t texts);

/// A standard error of fewer texts than this is no more than a guess: questions are counted alone.
inline constexpr std::int64_t kFewTexts = 4;

/// A head that beats its baseline does at least so much of what the baseline leaves undone.
inline constexpr double kLeastShare = 0.1;

/// Whether one of `heads` heads beats its baseline: by kLeastShare, and by the needed standard errors, over its rule
/// and over an even look, and with its weight over an even look's. The error is the larger one of two: of questions,
/// with two more counted, one for and one against, so that a handful without any difference between them proves nothing
/// (Agresti & Min 2005); and of texts, as the questions of one text may all be right or wrong for one reason.
bool beats_baseline(const Tally& tally, std::int64_t heads);

/// How much of what the baseline leaves undone the head does: (score - baseline) / (1 - baseline). Roles whose
/// baselines differ can be compared by it.
double share_of_rest(const Tally& tally);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_TALLY_H_
