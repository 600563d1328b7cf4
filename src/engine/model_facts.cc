#include "src/engine/model_facts.h"

#include <fmt/format.h>

#include <utility>

#include "sightline/error.h"
#include "src/format/checkpoint.h"

namespace sightline::engine {
namespace {

constexpr const char* kTokenizerFile = "tokenizer.json";

std::string display_name(const std::filesystem::path& directory) {
  const std::filesystem::path path = std::filesystem::absolute(directory).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();  // "models/x/" is x
}

}  // namespace

ModelFacts describe(const std::filesystem::path& directory, const model::Transformer& transformer,
                    const tokenizer::Tokenizer* tokenizer) {
  ModelFacts facts;
  facts.name = display_name(directory);
  facts.directory = directory;
  facts.config = transformer.config();
  facts.parameters = transformer.parameter_count();
  facts.warnings = transformer.warnings();
  if (tokenizer) {
    facts.tokenizer = TokenizerFacts{std::string(tokenizer->kind()), tokenizer->vocabulary_size(),
                                     tokenizer->file_padding(), tokenizer->file_truncation()};
  }
  return facts;
}

tokenizer::Tokenizer load_tokenizer(const std::filesystem::path& directory, const model::Transformer& transformer) {
  const std::filesystem::path file = directory / kTokenizerFile;
  auto tokenizer = tokenizer::Tokenizer::load(file);
  const std::int64_t embedded = transformer.config().vocabulary;
  if (std::cmp_greater(tokenizer.vocabulary_size(), embedded)) {
    throw BadFile(fmt::format("{} has {} tokens, but the model embeds only {}: it belongs to another model",
                              file.string(), tokenizer.vocabulary_size(), embedded));
  }
  return tokenizer;
}

ModelFacts inspect_model(const std::filesystem::path& directory) {
  const auto transformer = model::Transformer::load(directory);
  if (!std::filesystem::exists(directory / kTokenizerFile)) return describe(directory, transformer, nullptr);
  const tokenizer::Tokenizer tokenizer = load_tokenizer(directory, transformer);
  return describe(directory, transformer, &tokenizer);
}

WeightFacts inspect_weights(const std::filesystem::path& directory) {
  auto checkpoint = format::Checkpoint::open(directory);
  WeightFacts facts;
  for (const std::string& name : checkpoint.names()) {
    const format::Tensor& tensor = checkpoint.at(name);
    ++facts.tensors;
    facts.bytes += static_cast<std::int64_t>(tensor.bytes.size());
    facts.dtypes[dtype_name(tensor.dtype)] += tensor.element_count();
  }
  return facts;
}

}  // namespace sightline::engine
