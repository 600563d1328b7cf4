#include "src/model/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/model/rope.h"

namespace sightline::model {
namespace {

void check_ids(std::span<const std::int32_t> ids, std::int64_t limit, const char* what, std::size_t sequence) {
  const auto outside = [limit](std::int32_t id) { return id < 0 || id >= limit; };
  const auto found = std::ranges::find_if(ids, outside);
  if (found == ids.end()) return;
  throw BadArgument(fmt::format("sequence {}, position {}: {} {} is outside 0..{}", sequence, found - ids.begin(), what,
                                *found, limit - 1));
}

void check_types(const TransformerConfig& config, const TokenSequence& text, std::size_t sequence) {
  if (text.type_ids.empty()) return;
  if (text.type_ids.size() != text.ids.size()) {
    throw BadArgument(
        fmt::format("sequence {} has {} tokens but {} token types", sequence, text.ids.size(), text.type_ids.size()));
  }
  if (text.context != nullptr) {
    throw BadArgument(fmt::format("sequence {} has token types, which a context does not keep: give none", sequence));
  }
  check_ids(text.type_ids, std::max<std::int64_t>(config.token_types, 1), "token type", sequence);
}

void check_context(const void* model, const TokenSequence& text, std::size_t sequence) {
  const Context::Impl& context = text.context->impl();
  if (context.model.get() != model) {
    throw BadArgument(fmt::format("the context of sequence {} belongs to another model", sequence));
  }
  const std::int64_t length = context.length() + static_cast<std::int64_t>(text.ids.size());
  if (length > context.room) {
    throw BadArgument(fmt::format("sequence {}: a context of {} tokens gets {} more, but has room for {} in all",
                                  sequence, context.length(), text.ids.size(), context.room));
  }
  if (context.pruned && text.ids.size() != 1) {
    throw BadArgument(fmt::format("sequence {} adds {} tokens to a context that drops keys: it takes one at a time",
                                  sequence, text.ids.size()));
  }
}

void check_sequence(const TransformerConfig& config, const void* model, const TokenSequence& text,
                    std::size_t sequence) {
  if (text.ids.empty()) throw BadArgument(fmt::format("sequence {} has no tokens", sequence));
  if (std::cmp_greater(text.ids.size(), config.max_positions)) {
    throw BadArgument(fmt::format("sequence {} has {} tokens, the model takes at most {}", sequence, text.ids.size(),
                                  config.max_positions));
  }
  check_ids(text.ids, config.vocabulary, "token id", sequence);
  check_types(config, text, sequence);
  if (text.context != nullptr) check_context(model, text, sequence);
}

void check_contexts_differ(std::span<const TokenSequence> batch) {
  std::vector<Context*> contexts;
  for (const TokenSequence& text : batch) {
    if (text.context != nullptr) contexts.push_back(text.context);
  }
  std::ranges::sort(contexts);
  if (std::ranges::adjacent_find(contexts) != contexts.end()) {
    throw BadArgument("two sequences of a batch continue the same context: run one after the other");
  }
}

}  // namespace

void check_batch(const TransformerConfig& config, const void* model, std::span<const TokenSequence> batch) {
  for (std::size_t s = 0; s < batch.size(); ++s) check_sequence(config, model, batch[s], s);
  check_contexts_differ(batch);
}

PreparedBatch::PreparedBatch(const TransformerConfig& config, std::span<const TokenSequence> batch) {
  growths_.reserve(batch.size());
  try {
    for (const TokenSequence& text : batch) {
      sequences_.push_back(text.context != nullptr ? grow(config, text) : PassSequence{text.ids, text.type_ids});
    }
  } catch (...) {
    restore();
    throw;
  }
}

PreparedBatch::~PreparedBatch() {
  if (!committed_) restore();
}

PassSequence PreparedBatch::grow(const TransformerConfig& config, const TokenSequence& text) {
  Context::Impl& context = text.context->impl();
  const std::int64_t before = context.length(), added = static_cast<std::int64_t>(text.ids.size());
  Growth& growth = growths_.emplace_back(Growth{&context, text.ids, nullptr});
  if (context.pruned) return {text.ids, {}, before, 0, nullptr, nullptr, context.pruned.get()};
  PromptMass* const mass = context.mass.get();
  const bool from_the_beginning = before > 0 && (frequencies_differ(config.ropes, context.turned_for, before + added) ||
                                                 (mass != nullptr && !mass->is_complete()));
  if (mass != nullptr) mass->begin(before == 0 || from_the_beginning);
  if (!from_the_beginning) {
    context.cache->extend(added);
    context.cache->look_up();
    return {text.ids, {}, before, 0, context.cache.get(), mass};
  }
  growth.fresh = context.make_cache();
  growth.whole.reserve(before + added);
  growth.whole.assign(context.tokens.begin(), context.tokens.end());
  growth.whole.insert(growth.whole.end(), text.ids.begin(), text.ids.end());
  growth.fresh->extend(before + added);
  growth.fresh->look_up();
  return {growth.whole, {}, 0, before, growth.fresh.get(), mass};
}

// A context's tokens have memory for all its room, so that nothing here can fail.
void PreparedBatch::commit() noexcept {
  committed_ = true;
  for (Growth& growth : growths_) {
    Context::Impl& context = *growth.context;
    context.tokens.insert(context.tokens.end(), growth.ids.begin(), growth.ids.end());
    context.turned_for = context.length();
    if (growth.fresh) context.cache = std::move(growth.fresh);
    if (context.mass) context.mass->complete();
    if (context.pruned) context.pruned->commit();
  }
}

void PreparedBatch::restore() noexcept {
  for (Growth& growth : growths_) {
    if (!growth.fresh && growth.context->cache) growth.context->cache->truncate(growth.context->length());
  }
}

}  // namespace sightline::model
