#ifndef SIGHTLINE_MODEL_LANGUAGE_HEAD_H_
#define SIGHTLINE_MODEL_LANGUAGE_HEAD_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "src/model/pass.h"
#include "src/model/weights.h"

namespace sightline::model {

/// How many rows' logits a LogitReader is given at a time: 64 MiB of them, which are 64 rows of the largest
/// vocabularies, enough for linear layers to take each weight from memory for many rows.
inline std::int64_t logit_rows_read(std::int64_t vocabulary) {
  return std::max<std::int64_t>(1, (std::int64_t{64} << 20) / (vocabulary * std::int64_t{sizeof(float)}));
}

/// logits [count, vocabulary] of the last hidden states `rows` [count, width].
void logits_of(const Pass& pass, const LanguageHeadWeights& head, const float* rows, std::int64_t count,
               std::span<float> logits);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_LANGUAGE_HEAD_H_
