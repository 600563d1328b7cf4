#ifndef SIGHTLINE_MODEL_CONTRIBUTIONS_H_
#define SIGHTLINE_MODEL_CONTRIBUTIONS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "src/model/branches.h"

namespace sightline::model {

/// A number that a pass comes to: with `tokens` the sum of weight x logit, before a softcap of logits; with `direction`
/// the dot product with the last hidden state. Of several rows it is the mean over them.
struct Answer {
  PositionRange rows = {};                                   // one at least
  std::vector<std::pair<std::int32_t, double>> tokens = {};  // ids and their weights: {{yes, 1}, {no, -1}}
  bool minus_mean = false;                                   // less the mean of the logits of the whole vocabulary
  std::vector<float> direction = {};                         // [width]; in place of tokens
};

/// An answer as a sum ("direct logit attribution", Elhage et al. 2021): what each part of the model adds to it by way
/// of the residual sums alone. What a part does through later heads and MLPs is theirs. Norms on the way are linear
/// once their divisor is held at what it was in this pass, and so is the activation of a language head with a
/// transform, which multiplies each value by a gate. So the terms say what the answer was made of, not what it would be
/// without one of them: that is what branches say.
struct Contributions {
  double answer = 0;                 // as the pass has it; sum() differs by rounding alone
  std::vector<double> heads;         // [layers, query heads], through the output projection, without its bias
  std::vector<double> feed_forward;  // [layers]
  double embeddings = 0;             // what goes into the first layer
  double rest = 0;                   // biases of attention's output projections and of the head, shifts of norms

  double sum() const;
};

/// Throws BadArgument for rows, tokens and directions that there are not, and for tokens where the model has no
/// language head; Cancelled, OutOfMemory. `progress` is told of layers of some rows.
Contributions contributions(Branches& passes, const Answer& answer, Progress* progress = nullptr);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_CONTRIBUTIONS_H_
