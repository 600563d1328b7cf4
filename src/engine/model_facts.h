#ifndef SIGHTLINE_ENGINE_MODEL_FACTS_H_
#define SIGHTLINE_ENGINE_MODEL_FACTS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sightline/model.h"
#include "sightline/tokenizer.h"
#include "src/model/config.h"

namespace sightline::engine {

/// What a tokenizer says of itself.
struct TokenizerFacts {
  std::string kind;  // "WordPiece"
  std::size_t vocabulary = 0;
  int special_tokens = 0;                      // that its template adds to a text
  std::optional<std::size_t> file_padding;     // fixed length named in the file; never acts by itself
  std::optional<std::size_t> file_truncation;  // maximal length named in the file; never acts by itself
};

/// What the weight files of a model hold.
struct WeightFacts {
  struct OfType {
    std::int64_t tensors = 0, elements = 0, bytes = 0;
  };
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;               // of the tensors' data
  std::map<std::string, OfType> types;  // by name: "F32", "Q4_K"
};

/// What is known of a model without running it.
struct ModelFacts {
  std::string name;  // for display: of the directory, of a GGUF file without its ending
  std::filesystem::path path;
  model::TransformerConfig config;
  std::int64_t parameters = 0;
  WeightFacts weights;                      // which are mapped
  std::int64_t max_tokens = 0;              // of a text: what the model takes, or less where that was asked for
  std::optional<TokenizerFacts> tokenizer;  // none: the files have none
  std::vector<std::string> warnings;        // one line each
};

/// `path` as of Session::open(), `weights` as inspect_weights() tells of it.
ModelFacts describe(const std::filesystem::path& path, WeightFacts weights, const model::Transformer& transformer,
                    const tokenizer::Tokenizer* tokenizer);

/// Opens a model for `info`: every check of Session::open(), but there may be no tokenizer. Throws BadFile,
/// UnsupportedModel, OutOfMemory.
ModelFacts inspect_model(const std::filesystem::path& path, const model::OpenOptions& options = {});

/// Tokens of a context: those asked for, or where that is 0 model::kDefaultContext, or the model's limit below it.
/// Throws BadArgument for more than that limit.
std::int64_t context_tokens(const ModelFacts& model, std::int64_t asked);

/// What the weight files of a model hold. Throws BadFile, UnsupportedModel.
WeightFacts inspect_weights(const std::filesystem::path& path);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_MODEL_FACTS_H_
