#include "sightline/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/model/end_tokens.h"
#include "src/tokenizer/tokenizer_file.h"

namespace sightline::model {
namespace {

// Ids and types of tokens are rows of the model's embeddings.
void require_fit(const std::string& file, const tokenizer::TokenRange& range, const TransformerConfig& config) {
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

Model open(const std::filesystem::path& path, const OpenOptions& options) {
  Model model{Transformer::load(path, {.strict = options.strict}), tokenizer::Tokenizer::open(path, options.gguf)};
  require_fit(tokenizer::tokenizer_file(path).string(), model.tokenizer.range(), model.transformer.config());
  if (model.transformer.config().language_head != LanguageHead::none) {
    model.end_tokens = end_tokens(path, model.tokenizer);
  }
  return model;
}

}  // namespace sightline::model
