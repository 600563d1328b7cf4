#ifndef SIGHTLINE_MODEL_TRANSFORMER_IMPL_H_
#define SIGHTLINE_MODEL_TRANSFORMER_IMPL_H_

#include <string>
#include <vector>

#include "sightline/transformer.h"
#include "src/model/weights.h"

namespace sightline::model {

struct Transformer::Impl {
  TransformerConfig config;
  Weights weights;
  std::vector<std::string> warnings;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_TRANSFORMER_IMPL_H_
