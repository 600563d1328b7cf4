#ifndef SIGHTLINE_MODEL_IDENTITY_H_
#define SIGHTLINE_MODEL_IDENTITY_H_

#include <string>

#include "sightline/transformer_config.h"
#include "src/format/checkpoint.h"

namespace sightline::model {

/// A hash of all that a description says, but for the keys of the file that it does not know.
std::string description_hash(const TransformerConfig& config);
/// A hash of all tensors: names, types, shapes and bytes, whatever files they are in.
std::string weights_hash(const format::Checkpoint& checkpoint);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_IDENTITY_H_
