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

/// What tokenizer.json says of itself.
struct TokenizerFacts {
  std::string kind;  // "WordPiece"
  std::size_t vocabulary = 0;
  int special_tokens = 0;                      // that its template adds to a text
  std::optional<std::size_t> file_padding;     // fixed length named in the file; never acts by itself
  std::optional<std::size_t> file_truncation;  // maximal length named in the file; never acts by itself
};

/// What is known of a model without running it.
struct ModelFacts {
  std::string name;  // for display: the directory's own name
  std::filesystem::path directory;
  model::TransformerConfig config;
  std::int64_t parameters = 0;
  std::optional<TokenizerFacts> tokenizer;  // none: the directory has no tokenizer.json
  std::vector<std::string> warnings;        // one line each
};

ModelFacts describe(const std::filesystem::path& directory, const model::Transformer& transformer,
                    const tokenizer::Tokenizer* tokenizer);

/// The tokenizer.json of a model's directory. Throws UnsupportedModel and BadFile, also where the tokenizer gives an id
/// or a type id that the model does not embed, or no token for the text.
tokenizer::Tokenizer load_tokenizer(const std::filesystem::path& directory, const model::Transformer& transformer);

/// Opens a model directory for `info`: every check of Session::open(), but tokenizer.json may be absent.
/// Throws BadFile, UnsupportedModel, OutOfMemory.
ModelFacts inspect_model(const std::filesystem::path& directory);

/// What the weight files of a directory hold.
struct WeightFacts {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;                      // of the tensors' data
  std::map<std::string, std::int64_t> dtypes;  // "F32" -> elements
};
/// Throws BadFile.
WeightFacts inspect_weights(const std::filesystem::path& directory);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_MODEL_FACTS_H_
