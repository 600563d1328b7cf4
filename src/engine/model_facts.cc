#include "src/engine/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "sightline/error.h"
#include "src/engine/memory.h"
#include "src/engine/model_tokenizer.h"
#include "src/format/checkpoint.h"
#include "src/format/file.h"
#include "src/format/gguf.h"
#include "src/format/json.h"

namespace sightline::engine {
namespace {

constexpr const char* kTokenizerFile = "tokenizer.json";

std::string display_name(const std::filesystem::path& model) {
  std::error_code ignored;  // the working directory may have gone
  const std::filesystem::path path = (std::filesystem::current_path(ignored) / model).lexically_normal();
  const std::filesystem::path name = (path.has_filename() ? path : path.parent_path()).filename();  // "models/x/" is x
  return (name.extension() == ".gguf" ? name.stem() : name).string();
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

bool has_tokenizer(const std::filesystem::path& path) {
  if (!format::is_gguf(path)) return format::is_present(path / kTokenizerFile);
  return format::Checkpoint::open(path).metadata()->has("tokenizer.ggml.model");
}

}  // namespace

ModelFacts describe(const std::filesystem::path& path, const model::Transformer& transformer,
                    const tokenizer::Tokenizer* tokenizer) {
  ModelFacts facts;
  facts.name = display_name(path);
  facts.path = path;
  facts.config = transformer.config();
  facts.parameters = transformer.parameter_count();
  facts.weight_bytes = inspect_weights(path).bytes;
  facts.max_tokens = facts.config.max_positions;
  facts.warnings = transformer.warnings();
  if (tokenizer) {
    const auto special = static_cast<int>(tokenizer->encode("").tokens.size());  // what the template adds to no text
    facts.tokenizer = TokenizerFacts{std::string(tokenizer->kind()), tokenizer->vocabulary_size(), special,
                                     tokenizer->file_padding(), tokenizer->file_truncation()};
  }
  return facts;
}

tokenizer::Tokenizer load_tokenizer(const std::filesystem::path& path, const std::string& pretokenizer,
                                    const model::Transformer& transformer) {
  auto tokenizer = open_tokenizer({path, display_name(path), format::is_gguf(path)}, pretokenizer);
  require_fit(format::is_gguf(path) ? path.string() : (path / kTokenizerFile).string(), tokenizer.range(),
              transformer.config());
  return tokenizer;
}

ModelFacts inspect_model(const std::filesystem::path& path, const InspectOptions& options) {
  return within_memory(kNoMemoryForModel, [&] {
    const auto transformer = model::Transformer::load(path, {.strict = options.strict});
    if (!has_tokenizer(path)) return describe(path, transformer, nullptr);
    const tokenizer::Tokenizer tokenizer = load_tokenizer(path, options.pretokenizer, transformer);
    return describe(path, transformer, &tokenizer);
  });
}

WeightFacts inspect_weights(const std::filesystem::path& path) {
  auto checkpoint = format::Checkpoint::open(path);
  WeightFacts facts;
  for (const std::string& name : checkpoint.names()) {
    const format::Tensor& tensor = checkpoint.at(name);
    const auto bytes = static_cast<std::int64_t>(tensor.bytes.size());
    WeightFacts::OfType& type = facts.types[dtype_name(tensor.dtype)];
    ++facts.tensors;
    ++type.tensors;
    facts.bytes += bytes;
    type.bytes += bytes;
    type.elements += tensor.element_count();
  }
  return facts;
}

}  // namespace sightline::engine
