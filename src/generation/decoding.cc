#include "src/generation/decoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/generation/piece_progress.h"
#include "src/generation/state.h"
#include "src/model/context_cache.h"

namespace sightline::model {
namespace {

void require_prompt(const PromptTokens& prompt, std::int64_t room) {
  const std::size_t length = prompt.ids.size();
  if (length == 0) throw BadArgument("the prompt has no token: give a text");
  if (std::cmp_greater(length, room)) {
    throw BadArgument(
        fmt::format("the prompt has {} tokens and the context holds {}: shorten it, or make the context larger (-c)",
                    length, room));
  }
  if (prompt.segments.empty()) return;
  const auto known = [&](std::int32_t segment) { return segment >= -1 && segment <= prompt.generated(); };
  if (prompt.segments.size() != length || !std::ranges::all_of(prompt.segments, known)) {
    throw BadArgument(
        fmt::format("segments must be as many as tokens ({}), each -1 to {}", length, prompt.generated()));
  }
}

void require_options(const TransformerConfig& config, const DecodingOptions& options) {
  if (options.piece < 1) {
    throw BadArgument(fmt::format("a piece of {} tokens was asked for: it can be 1 or more", options.piece));
  }
  if (options.audit && options.cache.drop.kind == DropKind::none) {
    throw BadArgument("an audit is of keys that are dropped, and no rule of dropping is given");
  }
  if (options.watch) require_head(config.query_heads, options.watch->head);
}

void require_fit(const Transformer& transformer, const GenerationState::Impl& state, const ContextOptions& cache) {
  if (!transformer.owns(state.context)) {
    throw BadArgument("the state is of another model, and cannot go on with this one");
  }
  const ContextOptions& has = state.context.impl().options;
  if (has.keys == cache.keys && has.values == cache.values) return;
  throw BadArgument(fmt::format(
      "the state keeps keys as {} and values as {}, and {} and {} were asked for: ask for the same (-ctk, -ctv)",
      dtype_name(has.keys), dtype_name(has.values), dtype_name(cache.keys), dtype_name(cache.values)));
}

// How many of a state's tokens need not run: what it has in common with the prompt, but for the last token, whose row
// gives the next one. Sums of mass cannot lose rows.
std::int64_t kept_tokens(const GenerationState::Impl& state, std::span<const std::int32_t> prompt, bool sums_mass) {
  const std::span<const std::int32_t> held = state.context.tokens();
  const std::int64_t common = std::ranges::mismatch(held, prompt).in1 - held.begin();
  const std::int64_t count = std::min(common, std::ssize(prompt) - 1);
  return sums_mass && (count < std::ssize(held) || state.mass.layers.empty()) ? 0 : count;
}

}  // namespace

std::int64_t cache_bytes(const TransformerConfig& config, std::int64_t room, const ContextOptions& cache) {
  const auto row = row_bytes(cache.keys, config.head_width) + row_bytes(cache.values, config.head_width);
  return config.layers * config.kv_heads * room * static_cast<std::int64_t>(row);
}

// A context that goes on from the state's tokens that the prompt begins with, or none of them.
Decoding::Decoding(Transformer transformer, PromptTokens prompt, const DecodingOptions& options,
                   GenerationState::Impl* state)
    : transformer_(std::move(transformer)),
      options_(options),
      prompt_(std::move(prompt)),
      sampler_(options.sampling),
      context_(first_context(state)),
      resumed_(context_.length()),
      tokens_(prompt_.ids),
      segments_(prompt_.segments) {
  if (options.watch) {
    MassSums sums = resumed_ > 0 ? std::move(state->mass) : MassSums{};
    observer_.emplace(transformer_.config(), *options.watch, room(), std::move(sums), resumed_);
  }
  if (state != nullptr && state->seed == options.sampling.seed) sampler_.skip(state->drawn);
  segments_.resize(tokens_.size(), -1);
}

// All is checked before anything of the state is moved.
Context Decoding::first_context(GenerationState::Impl* state) const {
  require_options(transformer_.config(), options_);
  require_prompt(prompt_, options_.room);
  if (state == nullptr) return transformer_.make_context(options_.room, options_.cache);
  require_fit(transformer_, *state, options_.cache);
  const std::int64_t count = kept_tokens(*state, prompt_.ids, options_.watch && options_.watch->key_mass);
  if (state->context.room() == options_.room && state->context.impl().options.page_size == options_.cache.page_size) {
    state->context.truncate(count);
    return std::move(state->context);
  }
  Context context = transformer_.make_context(options_.room, options_.cache);
  if (count > 0) context.impl().copy(state->context.impl(), count);
  return context;
}

GenerationState Decoding::take_state() {
  require_not_taken();
  taken_ = true;
  if (left() == 0) {  // no token came of the last row, which is left to go on with
    context_.truncate(context_.length() - 1);
    sums_hold_ = false;
  }
  const bool observed = !prompt_.segments.empty();
  GenerationState::Impl state{std::move(context_), tokens_, observed ? segments_ : std::vector<std::int32_t>(),
                              prompt_.segment_count};
  if (observer_ && observer_->sums_mass() && sums_hold_) state.mass = observer_->take_sums();
  state.seed = options_.sampling.seed;
  state.drawn = sampler_.drawn();
  return GenerationState(std::make_unique<GenerationState::Impl>(std::move(state)));
}

void Decoding::require_not_taken() const {
  if (taken_) throw BadArgument("the state of the generation was taken: another goes on from it");
}

bool Decoding::is_full() const { return std::ssize(tokens_) > room(); }

std::int32_t Decoding::next() {
  require_not_taken();
  if (is_full()) {
    throw BadArgument(
        fmt::format("the context is full: it holds {} token{}; make it larger (-c, the model takes up to {}) "
                    "or ask for fewer tokens (-n)",
                    room(), room() == 1 ? "" : "s", transformer_.config().max_positions));
  }
  const std::vector<float> logits = advance();
  if (options_.cache.drop.kind != DropKind::none && !context_.is_dropping()) begin_dropping();
  const std::optional<std::int32_t> token = sampler_.next(logits, tokens_);
  if (!token) throw BadFile("the model gives no number for any next token: its weights are damaged");
  if (full_) compare(*token, logits);
  if (options_.log_probability) log_probability_ = ops::log_probability(logits, *token);
  tokens_.push_back(*token);
  segments_.push_back(prompt_.generated());
  return *token;
}

// The prompt is through, and no token drawn.
void Decoding::begin_dropping() {
  Context whole = context_.begin_dropping(options_.audit);
  if (options_.audit) full_.emplace(transformer_, std::move(whole), sampler_, options_.threads);
}

// Up to here both texts are the same. Once they part the full one is of no further use, and gives back its memory.
void Decoding::compare(std::int32_t token, std::span<const float> logits) {
  const std::int64_t prompt_length = std::ssize(prompt_.ids), length = std::ssize(tokens_);
  PieceProgress progress(options_.progress, prompt_length, prompt_length);
  const std::optional<std::int32_t> of_full = full_->next(tokens_, logits, progress.hook());
  if (!of_full || *of_full == token) return;
  departure_ = Departure{length - prompt_length, token, *of_full, {}, {}};
  full_.reset();
}

void Decoding::watch_head(int head) {
  if (!options_.watch || !options_.watch->row_weights) {
    throw BadArgument("a head is watched in a generation whose rows are: ask for row_weights in its options");
  }
  observer_->watch_head(head);
}

std::int32_t Decoding::segment_count() const { return prompt_.segments.empty() ? 0 : prompt_.segment_count + 1; }

// What is not in the context yet goes through: the prompt in pieces, the newest row by itself where it is watched, so
// that the rows before it need no room for what is observed.
std::vector<float> Decoding::advance() {
  const std::int64_t last = observer_ ? 1 : options_.piece;
  while (left() > last) run(std::min(options_.piece, left() - (observer_ ? 1 : 0)), /*newest=*/false);
  return run(left(), /*newest=*/true);
}

void Decoding::read_prompt() {
  require_not_taken();
  while (left() > 1) run(std::min(options_.piece, left() - 1), /*newest=*/false);
}

// Sums of mass would be those of half a pass where it was broken off: it is not, once it has begun.
std::vector<float> Decoding::run(std::int64_t count, bool newest) {
  if (!sums_hold_) throw BadArgument("no token follows: a pass that summed what keys receive was broken off");
  const std::int64_t prompt_length = std::ssize(prompt_.ids);
  PieceProgress progress(options_.progress, std::min(context_.length(), prompt_length), prompt_length);
  if (!observer_ || !observer_->sums_mass()) return pass(count, newest, progress.hook());
  if (!progress.goes_on()) throw Cancelled("the prompt was not read to its end");
  progress.keep_whole();
  sums_hold_ = false;
  std::vector<float> logits = pass(count, newest, progress.hook());
  sums_hold_ = true;
  return logits;
}

std::vector<float> Decoding::pass(std::int64_t count, bool newest, Progress* progress) {
  const auto begin = static_cast<std::size_t>(context_.length()), end = begin + static_cast<std::size_t>(count);
  const TokenSequence text{std::span(tokens_).subspan(begin, end - begin), {}, &context_};
  const bool observed = observer_ && (newest || observer_->sums_mass());
  if (observed) observer_->begin(count, std::span(segments_).first(end), segment_count(), newest);
  return transformer_
      .forward({&text, 1}, {.threads = options_.threads,
                            .observer = observed ? &*observer_ : nullptr,
                            .progress = progress,
                            .logits = newest ? LogitRows::last : LogitRows::none,
                            .knock_outs = options_.knock_outs})
      .logits;
}

}  // namespace sightline::model
