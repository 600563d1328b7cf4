#ifndef SIGHTLINE_ANALYSIS_PLANTED_KEY_H_
#define SIGHTLINE_ANALYSIS_PLANTED_KEY_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"
#include "src/analysis/normal_numbers.h"

namespace sightline::analysis {

/// What the last query of a causal text reads of one key that answers it, all others being alike: their scores are 0,
/// their values 0, and the planted key's score is ln(3 (n - 1)), so that its weight is 3/4 and the output 3/4 of its
/// value, wherever it stands.
class PlantedKey {
 public:
  static constexpr std::int64_t kWidth = 64;
  static constexpr double kWeight = 0.75;

  PlantedKey(std::int64_t keys, std::int64_t position, NormalNumbers& draw);

  /// One call of the kernel, on one thread.
  void read();
  const std::vector<float>& output() const { return output_; }
  /// Of the planted key, as the call reports its weight.
  float weight() const;
  /// The largest difference of an output from 3/4 of the value, as a share of the largest output.
  double error() const;

 private:
  AttentionProblem problem() const;

  std::int64_t position_;
  std::vector<float> query_, keys_, values_, output_;
  Workspace workspace_;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_PLANTED_KEY_H_
