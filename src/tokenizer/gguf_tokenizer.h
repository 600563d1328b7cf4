#ifndef SIGHTLINE_TOKENIZER_GGUF_TOKENIZER_H_
#define SIGHTLINE_TOKENIZER_GGUF_TOKENIZER_H_

#include <memory>
#include <nlohmann/json.hpp>

#include "sightline/tokenizer.h"
#include "src/format/gguf.h"
#include "src/tokenizer/model.h"

namespace sightline::tokenizer {

/// The tokenizer of a GGUF file in the words of a tokenizer.json: its stages and added tokens, and the model apart.
struct GgufTokenizer {
  nlohmann::json file;
  std::unique_ptr<const Model> model;
};

/// From "tokenizer.ggml.*": gpt2 (byte-level BPE), llama (BPE by SentencePiece's scores), bert (WordPiece) and t5
/// (Unigram). Throws BadFile, UnsupportedModel.
GgufTokenizer read_gguf_tokenizer(const format::GgufMetadata& metadata, const GgufTokenizerOptions& options);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_GGUF_TOKENIZER_H_
