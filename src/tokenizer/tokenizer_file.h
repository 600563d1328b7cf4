#ifndef SIGHTLINE_TOKENIZER_TOKENIZER_FILE_H_
#define SIGHTLINE_TOKENIZER_TOKENIZER_FILE_H_

#include <filesystem>

#include "src/format/gguf.h"

namespace sightline::tokenizer {

/// The file of a model that Tokenizer::open() reads: a GGUF file itself, a directory's tokenizer.json.
inline std::filesystem::path tokenizer_file(const std::filesystem::path& model) {
  return format::is_gguf(model) ? model : model / "tokenizer.json";
}

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_TOKENIZER_FILE_H_
