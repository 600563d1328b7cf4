#include "src/engine/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "sightline/generation.h"
#include "src/engine/memory.h"
#include "src/engine/model_location.h"
#include "src/format/checkpoint.h"
#include "src/format/file.h"
#include "src/format/gguf.h"
#include "src/tokenizer/tokenizer_file.h"

namespace sightline::engine {
namespace {

std::string display_name(const std::filesystem::path& model) {
  const std::filesystem::path name = last_name(model);
  return (name.extension() == ".gguf" ? name.stem() : name).string();
}

bool has_tokenizer(const std::filesystem::path& path) {
  if (!format::is_gguf(path)) return format::is_present(tokenizer::tokenizer_file(path));
  return format::Checkpoint::open(path).metadata()->has("tokenizer.ggml.model");
}

}  // namespace

ModelFacts describe(const std::filesystem::path& path, WeightFacts weights, const model::Transformer& transformer,
                    const tokenizer::Tokenizer* tokenizer) {
  ModelFacts facts;
  facts.name = display_name(path);
  facts.path = path;
  facts.config = transformer.config();
  facts.parameters = transformer.parameter_count();
  facts.weights = std::move(weights);
  facts.max_tokens = facts.config.max_positions;
  facts.warnings = transformer.warnings();
  if (tokenizer) {
    const auto special = static_cast<int>(tokenizer->encode("").tokens.size());  // what the template adds to no text
    facts.tokenizer = TokenizerFacts{std::string(tokenizer->kind()), tokenizer->vocabulary_size(), special,
                                     tokenizer->file_padding(), tokenizer->file_truncation()};
  }
  return facts;
}

ModelFacts inspect_model(const std::filesystem::path& path, const model::OpenOptions& options) {
  return within_memory(kNoMemoryForModel, [&] {
    if (!has_tokenizer(path)) {
      const auto transformer = model::Transformer::load(path, {.strict = options.strict});
      return describe(path, inspect_weights(path), transformer, nullptr);
    }
    const model::Model model = model::open(path, options);
    return describe(path, inspect_weights(path), model.transformer, &model.tokenizer);
  });
}

std::int64_t context_tokens(const ModelFacts& model, std::int64_t asked) {
  if (asked == 0) return std::min(model.max_tokens, model::kDefaultContext);
  if (asked < 1 || asked > model.max_tokens) {
    throw BadArgument(fmt::format("a context of {} tokens was asked for, and {} takes at most {}", asked, model.name,
                                  model.max_tokens));
  }
  return asked;
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
