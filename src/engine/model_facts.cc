#include "src/engine/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "sightline/error.h"
#include "src/engine/memory.h"
#include "src/format/checkpoint.h"
#include "src/format/file.h"
#include "src/format/json.h"

namespace sightline::engine {
namespace {

constexpr const char* kTokenizerFile = "tokenizer.json";

std::string display_name(const std::filesystem::path& directory) {
  std::error_code ignored;  // the working directory may have gone
  const std::filesystem::path path = (std::filesystem::current_path(ignored) / directory).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();  // "models/x/" is x
}

// Ids and types of tokens are rows of the model's embeddings.
void require_fit(const std::string& file, const tokenizer::TokenRange& range, const model::TransformerConfig& config) {
  if (range.largest_id >= config.vocabulary) {
    throw BadFile(fmt::format("{}: token {} has the id {}, but the model embeds {} tokens: it belongs to another model",
                              file, format::quote(range.largest_piece), range.largest_id, config.vocabulary));
  }
  const std::int64_t types = std::max<std::int64_t>(config.token_types, 1);
  if (range.largest_type_id >= types) {
    throw BadFile(fmt::format("{}: \"post_processor\" gives the type_id {}, but the model has {} token types", file,
                              range.largest_type_id, types));
  }
  if (!range.keeps_text) {
    throw BadFile(fmt::format("{}: \"post_processor.single\" leaves the text out: it needs a \"Sequence\" A", file));
  }
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
    const auto special = static_cast<int>(tokenizer->encode("").tokens.size());  // what the template adds to no text
    facts.tokenizer = TokenizerFacts{std::string(tokenizer->kind()), tokenizer->vocabulary_size(), special,
                                     tokenizer->file_padding(), tokenizer->file_truncation()};
  }
  return facts;
}

tokenizer::Tokenizer load_tokenizer(const std::filesystem::path& directory, const model::Transformer& transformer) {
  const std::filesystem::path file = directory / kTokenizerFile;
  auto tokenizer = tokenizer::Tokenizer::load(file);
  require_fit(file.string(), tokenizer.range(), transformer.config());
  return tokenizer;
}

ModelFacts inspect_model(const std::filesystem::path& directory) {
  return within_memory(kNoMemoryForModel, [&] {
    const auto transformer = model::Transformer::load(directory);
    if (!format::is_present(directory / kTokenizerFile)) return describe(directory, transformer, nullptr);
    const tokenizer::Tokenizer tokenizer = load_tokenizer(directory, transformer);
    return describe(directory, transformer, &tokenizer);
  });
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
