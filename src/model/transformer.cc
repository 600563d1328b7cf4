#include "sightline/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "sightline/error.h"
#include "src/cpu/parallel.h"
#include "src/format/gguf.h"
#include "src/format/json.h"
#include "src/model/batch.h"
#include "src/model/context_cache.h"
#include "src/model/drop_rule.h"
#include "src/model/edge_cuts.h"
#include "src/model/forward.h"
#include "src/model/identity.h"
#include "src/model/rope.h"
#include "src/model/transformer_impl.h"

namespace sightline::model {
namespace {

std::vector<std::string> collect_warnings(const TransformerConfig& config, Weights& weights) {
  std::vector<std::string> warnings = std::exchange(weights.warnings, {});
  if (!config.unknown_keys.empty()) {
    std::string keys;
    for (const std::string& key : config.unknown_keys) keys += (keys.empty() ? "" : ", ") + format::quote(key);
    const char* where = weights.checkpoint.metadata() != nullptr ? "metadata" : "config.json";
    warnings.push_back(fmt::format("{}: keys not known and not used: {}", where, keys));
  }
  return warnings;
}

void check_options(const TransformerConfig& config, const ForwardOptions& options) {
  if (options.logits != LogitRows::none && config.language_head == LanguageHead::none) {
    throw BadArgument("the model has no language-model head, so there are no logits");
  }
  if (options.precision == Precision::fast && !fast_available()) {
    throw BadArgument("this machine has no instruction for products of bf16: use exact precision");
  }
}

// Whether the first text's context lends its memory: that of many rows would stay taken for nothing.
bool keeps_memory(std::span<const TokenSequence> batch, std::span<const PassSequence> sequences) {
  constexpr std::int64_t kFewRows = 16;
  std::int64_t rows = 0;
  for (const PassSequence& text : sequences) rows += text.length();
  return !batch.empty() && batch.front().context != nullptr && rows <= kFewRows;
}

void require_droppable(const TransformerConfig& config, std::int64_t tokens, const DropRule& rule) {
  require_drop_rule(rule);
  if (rule.kind == DropKind::none || !frequencies_differ(config.ropes, 1, tokens)) return;
  throw BadArgument(
      fmt::format("no keys can be dropped within a context of {} tokens: the model's rope follows the length of the "
                  "text, and longer ones would need all keys again; make the context shorter (-c)",
                  tokens));
}

}  // namespace

Transformer Transformer::load(const std::filesystem::path& path, const LoadOptions& options) {
  const auto impl = std::make_shared<Impl>();
  // A GGUF file holds both, and is read once; what a directory holds means nothing without its config.json.
  const bool gguf = format::is_gguf(path);
  if (!gguf) impl->config = read_config(path);
  format::Checkpoint checkpoint = format::Checkpoint::open(path);
  if (gguf) impl->config = parse_gguf_config(*checkpoint.metadata());
  impl->weights = load_weights(std::move(checkpoint), impl->config);
  impl->warnings = collect_warnings(impl->config, impl->weights);
  if (options.strict && !impl->warnings.empty()) throw BadFile(path.string() + ": " + impl->warnings.front());
  Transformer transformer;
  transformer.impl_ = impl;
  return transformer;
}

const TransformerConfig& Transformer::config() const { return impl_->config; }
std::int64_t Transformer::parameter_count() const { return impl_->weights.parameter_count; }
TransformerIdentity Transformer::identity() const {
  return {description_hash(impl_->config), weights_hash(impl_->weights.checkpoint)};
}

std::int64_t Transformer::token_weight_bytes() const {
  return model::token_weight_bytes(impl_->weights, impl_->config);
}
std::vector<std::string> Transformer::warnings() const { return impl_->warnings; }

Context Transformer::make_context(std::int64_t tokens, const ContextOptions& options) const {
  const TransformerConfig& config = impl_->config;
  if (!config.causal) throw BadArgument("a context needs a causal model: this one sees its texts from both sides");
  if (tokens < 1 || tokens > config.max_positions) {
    throw BadArgument(fmt::format("a context of {} tokens: the model takes 1 to {}", tokens, config.max_positions));
  }
  require_droppable(config, tokens, options.drop);
  auto context = std::make_unique<Context::Impl>();
  context->model = impl_;
  context->config = config;
  context->options = options;
  context->room = tokens;
  try {
    context->tokens.reserve(static_cast<std::size_t>(tokens));
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("no memory for a context of {} tokens: make it shorter", tokens));
  }
  context->cache = context->make_cache();
  if (options.drop.kind != DropKind::none) context->mass = std::make_unique<PromptMass>(config, tokens);
  return Context(std::move(context));
}

bool Transformer::owns(const Context& context) const { return context.impl().model == impl_; }

ForwardResult Transformer::forward(std::span<const TokenSequence> batch, const ForwardOptions& options) const {
  check_batch(impl_->config, impl_.get(), batch);
  check_options(impl_->config, options);
  check_knock_outs(impl_->config, batch, options.knock_outs);
  try {
    PreparedBatch prepared(impl_->config, batch);
    PassMemory fresh;
    PassMemory& memory = keeps_memory(batch, prepared.sequences()) ? batch.front().context->impl().memory : fresh;
    ForwardResult result;
    cpu::with_team(options.threads, [&] {
      result = ForwardPass(impl_->config, impl_->weights, prepared.sequences(), options, memory).run();
    });
    prepared.commit();
    return result;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for the activations of the texts: give fewer at a time, or shorter ones");
  }
}

std::vector<TokenSequence> unpadded(std::span<const std::int32_t> ids, std::span<const std::uint8_t> mask,
                                    std::int64_t length) {
  if (length < 1 || ids.size() != mask.size() || ids.size() % static_cast<std::size_t>(length) != 0) {
    throw BadArgument(
        fmt::format("a padded batch of {} ids and {} mask values is no rows of {}", ids.size(), mask.size(), length));
  }
  std::vector<TokenSequence> texts;
  for (std::size_t row = 0; row < ids.size(); row += static_cast<std::size_t>(length)) {
    const std::span<const std::uint8_t> real = mask.subspan(row, static_cast<std::size_t>(length));
    const auto set = [](std::uint8_t value) { return value != 0; };
    const auto first = std::ranges::find_if(real, set);
    const auto end = std::find_if_not(first, real.end(), set);
    if (first == real.end()) throw BadArgument(fmt::format("row {} of the mask is all padding", texts.size()));
    if (std::any_of(end, real.end(), set)) {
      throw BadArgument(fmt::format("row {} of the mask has padding between real tokens", texts.size()));
    }
    texts.push_back(
        {ids.subspan(row + static_cast<std::size_t>(first - real.begin()), static_cast<std::size_t>(end - first))});
  }
  return texts;
}

}  // namespace sightline::model
