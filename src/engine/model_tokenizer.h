#ifndef SIGHTLINE_ENGINE_MODEL_TOKENIZER_H_
#define SIGHTLINE_ENGINE_MODEL_TOKENIZER_H_

#include <string>

#include "src/engine/model_location.h"
#include "src/tokenizer/tokenizer.h"

namespace sightline::engine {

/// The tokenizer of a model, of which no other file is read: a directory's tokenizer.json, or what a GGUF file holds.
/// `pre` is read in place of the file's tokenizer.ggml.pre; empty: as the file says. Throws BadArgument for a `pre`
/// without a GGUF file, BadFile, UnsupportedModel.
tokenizer::Tokenizer open_tokenizer(const ModelLocation& model, const std::string& pre);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_MODEL_TOKENIZER_H_
