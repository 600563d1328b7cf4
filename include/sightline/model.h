#ifndef SIGHTLINE_MODEL_H_
#define SIGHTLINE_MODEL_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "sightline/tokenizer.h"
#include "sightline/transformer.h"

namespace sightline::model {

struct OpenOptions {
  bool strict = false;  // as LoadOptions::strict
  tokenizer::GgufTokenizerOptions gguf;
};

/// A transformer and the tokenizer that its ids come from. Safe for concurrent use.
struct Model {
  Transformer transformer;
  tokenizer::Tokenizer tokenizer;
  /// Ids that end a text or a turn, ascending: those that the files name, and special tokens with a spelling that is
  /// known for it ("<|im_end|>"); docs/generate.md has the list. Empty for models without an output matrix.
  std::vector<std::int32_t> end_tokens = {};
};

/// Opens a Hugging Face directory (config.json, model.safetensors or its shards, tokenizer.json) or a GGUF file.
/// Weights stay where the files are mapped. Throws BadFile, UnsupportedModel, OutOfMemory; BadFile also where the
/// tokenizer gives an id or a type id that the transformer does not embed, or no token for a text.
Model open(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_H_
