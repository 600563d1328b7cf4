#ifndef SIGHTLINE_CAPI_ARGUMENTS_H_
#define SIGHTLINE_CAPI_ARGUMENTS_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"
#include "sightline/sightline.h"
#include "src/capi/functions.h"

namespace sightline::capi {

/// What a C program passed, as the C++ interface takes it. Arrays stay the caller's; lists whose elements differ
/// between the two are copied here, and the problem points into them. Checked is what would be lost on the way (null
/// arrays, codes, sizes that wrap); the rest is the engine's to check. Throws BadArgument.
class Arguments {
 public:
  explicit Arguments(const sightline_attention_args* passed);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  const AttentionProblem& problem() const { return problem_; }
  const Observations& observations() const { return observations_; }
  MutableTensorView out() const;
  int threads() const { return args_.threads; }

 private:
  void read_lists();
  void read_problem();
  void read_masks();
  void read_observations();
  void read_masses();

  sightline_attention_args args_;
  std::vector<SequenceSpan> sequences_;
  std::vector<EdgeCut> cuts_;
  std::vector<BlockMask::Entry> blocks_;
  ScoreOfC score_function_;
  MaskOfC mask_function_;
  AttentionProblem problem_;
  Observations observations_;
};

/// What codes mean. Throw BadArgument.
Alignment alignment(std::int64_t code);
Stage stage(std::int64_t code);

}  // namespace sightline::capi

#endif  // SIGHTLINE_CAPI_ARGUMENTS_H_
