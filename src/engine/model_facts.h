#ifndef SIGHTLINE_ENGINE_MODEL_FACTS_H_
#define SIGHTLINE_ENGINE_MODEL_FACTS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/model/config.h"
#include "src/model/transformer.h"
#include "src/tokenizer/tokenizer.h"

namespace sightline::engine {

/// What a tokenizer says of itself.
struct TokenizerFacts {
  std::string kind;  // "WordPiece"
  std::size_t vocabulary = 0;
  int special_tokens = 0;                      // that its template adds to a text
  std::optional<std::size_t> file_padding;     // fixed length named in the file; never acts by itself
  std::optional<std::size_t> file_truncation;  // maximal length named in the file; never acts by itself
};

/// What is known of a model without running it.
struct ModelFacts {
  std::string name;  // for display: of the directory, of a GGUF file without its ending
  std::filesystem::path path;
  model::TransformerConfig config;
  std::int64_t parameters = 0;
  std::int64_t weight_bytes = 0;            // of the tensors in the files, which are mapped
  std::int64_t max_tokens = 0;              // of a text: what the model takes, or less where that was asked for
  std::optional<TokenizerFacts> tokenizer;  // none: the files have none
  std::vector<std::string> warnings;        // one line each
};

/// `path` as of Session::open().
ModelFacts describe(const std::filesystem::path& path, const model::Transformer& transformer,
                    const tokenizer::Tokenizer* tokenizer);

/// The tokenizer of a model: of its directory's tokenizer.json, or within a GGUF file, where `pretokenizer`, if not
/// empty, stands for what the file names. Throws UnsupportedModel and BadFile, also where the tokenizer gives an id or
/// a type id that the model does not embed, or no token for the text.
tokenizer::Tokenizer load_tokenizer(const std::filesystem::path& path, const std::string& pretokenizer,
                                    const model::Transformer& transformer);

struct InspectOptions {
  std::string pretokenizer;  // as SessionOptions::pretokenizer
  bool strict = false;
};
/// Opens a model for `info`: every check of Session::open(), but there may be no tokenizer. Throws BadFile,
/// UnsupportedModel, OutOfMemory.
ModelFacts inspect_model(const std::filesystem::path& path, const InspectOptions& options = {});

/// What the weight files of a model hold.
struct WeightFacts {
  struct OfType {
    std::int64_t tensors = 0, elements = 0, bytes = 0;
  };
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;               // of the tensors' data
  std::map<std::string, OfType> types;  // by name: "F32", "Q4_K"
};
/// Throws BadFile.
WeightFacts inspect_weights(const std::filesystem::path& path);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_MODEL_FACTS_H_
