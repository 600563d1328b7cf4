#include "sightline/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/cpu/parallel.h"
#include "src/generation/decoding.h"
#include "src/generation/scoring.h"
#include "src/generation/stop_text.h"
#include "src/model/context_cache.h"
#include "src/observe/top_capacity.h"
#include "src/tokenizer/text_stream.h"

namespace sightline::model {
namespace {

bool holds(const std::vector<std::int32_t>& ids, std::int32_t id) { return std::ranges::find(ids, id) != ids.end(); }

std::int64_t context_of(const TransformerConfig& config, const GenerationOptions& options) {
  if (options.context == 0) return std::min(config.max_positions, kDefaultContext);
  if (options.context < 1 || options.context > config.max_positions) {
    throw BadArgument(fmt::format("a context of {} tokens was asked for, and the model takes at most {}",
                                  options.context, config.max_positions));
  }
  return options.context;
}

void require_range(const TransformerConfig& config, const GenerationOptions& options) {
  if (options.max_tokens < -1) {
    throw BadArgument(fmt::format("n is {}: it can be -1 (until the text ends), 0 or more", options.max_tokens));
  }
  for (const std::int32_t token : options.stop_tokens) {
    if (token >= 0 && token < config.vocabulary) continue;
    throw BadArgument(fmt::format("{} is no token to stop at: the model's are 0 to {}", token, config.vocabulary - 1));
  }
  StopText{options.stop_texts};  // refuses an empty one
  if (options.watch && (options.watch->top < 0 || options.watch->top > kMaxTopKeys)) {
    throw BadArgument(fmt::format("top is {}: it can be 0 (no keys) to {}", options.watch->top, kMaxTopKeys));
  }
}

// What a state keeps is the whole cache of a text that nothing was taken out of.
void require_state(const GenerationOptions& options) {
  if (options.cache.drop.kind != DropKind::none) throw BadArgument("a generation that drops keys has no state");
  if (!options.knock_outs.empty()) throw BadArgument("a generation with edges knocked out has no state");
}

void require_together(const GenerationOptions& options) {
  if (options.cache.drop.kind == DropKind::none || options.knock_outs.empty()) return;
  throw BadArgument("keys cannot be dropped where edges are knocked out: leave one of the two (--drop, --block) out");
}

DecodingOptions decoding_options(const TransformerConfig& config, const GenerationOptions& options) {
  require_decoder(config);
  require_range(config, options);
  require_together(options);
  DecodingOptions decoding;
  decoding.room = context_of(config, options);
  decoding.cache = options.cache;
  decoding.audit = options.audit;
  decoding.sampling = options.sampling;
  decoding.threads = options.threads;
  decoding.watch = options.watch;
  decoding.knock_outs = options.knock_outs;
  decoding.log_probability = options.log_probability;
  decoding.piece = options.piece;
  decoding.progress = options.progress;
  return decoding;
}

PromptTokens read(const tokenizer::Tokenizer& tokenizer, std::string_view text) {
  PromptTokens prompt;
  for (const tokenizer::Token& token : tokenizer.encode(text).tokens) prompt.ids.push_back(token.id);
  return prompt;
}

// The mean over maps; nothing without an audit.
std::optional<double> newest_missed(const DropAccount& account) {
  if (account.audits.empty()) return std::nullopt;
  double sum = 0;
  for (const HeadAudit& audit : account.audits) sum += audit.newest;
  return sum / static_cast<double>(account.audits.size());
}

Decoding begin(const Model& model, PromptTokens prompt, const GenerationOptions& options) {
  return {model.transformer, std::move(prompt), decoding_options(model.transformer.config(), options)};
}

// Where a prompt is a state's text and no more, its last tokens may have cut a character, which goes on: so many of
// them, as a character has four bytes.
std::size_t cut_tokens(const PromptTokens& prompt, const GenerationState& state) {
  constexpr std::size_t kMost = 3;
  return std::ranges::equal(prompt.ids, state.tokens()) ? std::min(kMost, prompt.ids.size()) : 0;
}

}  // namespace

std::string end_name(const GenerationEnd& end) {
  switch (end.kind) {
    case EndKind::end_token:
      return fmt::format("eos {}", end.token);
    case EndKind::stop_token:
      return fmt::format("stop {}", end.token);
    case EndKind::stop_text:
      return "stop text";
    case EndKind::length:
      return "length";
    case EndKind::cancelled:
      break;
  }
  return "cancelled";
}

struct Generation::Impl {
  Impl(const Model& model, const GenerationOptions& options_of, Decoding begun, std::size_t spoken = 0)
      : options(options_of),
        end_tokens(model.end_tokens),
        decoding(std::move(begun)),
        tokenizer(model.tokenizer),
        stream(model.tokenizer, decoding.tokens().first(decoding.tokens().size() - spoken)),
        stops(options_of.stop_texts) {
    for (const std::int32_t token : decoding.tokens().last(spoken)) stream.add(token);
    if (options.max_tokens == 0) end = GenerationEnd{};
  }

  std::span<const std::int32_t> tokens() const { return decoding.tokens().subspan(decoding.prompt().ids.size()); }
  std::optional<GeneratedToken> next();
  std::string flush();
  void note_departure();
  std::optional<GenerationEnd> end_of(std::int32_t token) const;
  std::string taken(std::string given);

  GenerationOptions options;
  std::vector<std::int32_t> end_tokens;
  Decoding decoding;
  std::optional<Departure> departure;
  tokenizer::Tokenizer tokenizer;
  tokenizer::TextStream stream;
  StopText stops;
  std::string text;
  std::optional<GenerationEnd> end;
};

std::optional<GeneratedToken> Generation::Impl::next() {
  if (end) return std::nullopt;
  GeneratedToken token;
  token.id = decoding.next();
  token.sight = decoding.sight();
  if (options.log_probability) token.log_probability = decoding.log_probability();
  if (decoding.drops() != nullptr) token.evicted_mass = newest_missed(*decoding.drops());
  if (!departure && decoding.departure()) note_departure();
  end = end_of(token.id);
  if (!end) token.text = stops.add(stream.add(token.id));
  if (stops.found()) end = GenerationEnd{EndKind::stop_text, -1, *stops.found()};
  if (!end && std::cmp_equal(tokens().size(), options.max_tokens)) end = GenerationEnd{};
  token.text = taken(std::move(token.text));
  if (end) token.text += flush();
  return token;
}

void Generation::Impl::note_departure() {
  departure = decoding.departure();
  departure->piece = tokenizer.piece_of(departure->id);
  departure->full_piece = tokenizer.piece_of(departure->full_id);
}

std::string Generation::Impl::flush() {
  std::string rest = stops.add(stream.finish());
  return taken(rest + stops.finish());
}

std::optional<GenerationEnd> Generation::Impl::end_of(std::int32_t token) const {
  if (holds(end_tokens, token)) return GenerationEnd{EndKind::end_token, token, {}};
  if (holds(options.stop_tokens, token)) return GenerationEnd{EndKind::stop_token, token, {}};
  return std::nullopt;
}

std::string Generation::Impl::taken(std::string given) {
  text += given;
  return given;
}

Generation::Generation(const Model& model, PromptTokens prompt, const GenerationOptions& options)
    : impl_(std::make_unique<Impl>(model, options, begin(model, std::move(prompt), options))) {}
Generation::Generation(const Model& model, std::string_view prompt, const GenerationOptions& options)
    : Generation(model, read(model.tokenizer, prompt), options) {}
Generation::Generation(const Model& model, PromptTokens prompt, const GenerationOptions& options,
                       GenerationState&& state) {
  require_state(options);
  const std::size_t spoken = cut_tokens(prompt, state);
  Decoding decoding(model.transformer, std::move(prompt), decoding_options(model.transformer.config(), options),
                    std::move(state));
  impl_ = std::make_unique<Impl>(model, options, std::move(decoding), spoken);
}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

std::optional<GeneratedToken> Generation::next() { return impl_->next(); }

const GenerationEnd& Generation::run(const OnToken& on_token) {
  if (!on_token) throw BadArgument("run() was given no function to call");
  cpu::with_team(impl_->options.threads, [&] {  // which is at hand from token to token
    while (const std::optional<GeneratedToken> token = next()) {
      if (!on_token(*token) && !impl_->end) impl_->end = GenerationEnd{EndKind::cancelled, -1, {}};
    }
  });
  return *impl_->end;
}

void Generation::read_prompt() { impl_->decoding.read_prompt(); }
GenerationState Generation::take_state() {
  require_state(impl_->options);
  return impl_->decoding.take_state();
}
std::int64_t Generation::resumed() const { return impl_->decoding.resumed(); }

std::string Generation::flush() { return impl_->flush(); }
void Generation::watch_head(int head) { impl_->decoding.watch_head(head); }
const std::optional<GenerationEnd>& Generation::end() const { return impl_->end; }
const PromptTokens& Generation::prompt() const { return impl_->decoding.prompt(); }
const std::string& Generation::text() const { return impl_->text; }
std::span<const std::int32_t> Generation::tokens() const { return impl_->tokens(); }
bool Generation::is_full() const { return impl_->decoding.is_full(); }
std::int64_t Generation::context() const { return impl_->decoding.room(); }
std::int64_t Generation::cache_bytes() const { return impl_->decoding.cache_bytes(); }
const DropAccount* Generation::drops() const { return impl_->decoding.drops(); }
const std::optional<Departure>& Generation::departure() const { return impl_->departure; }

std::int64_t generation_bytes(const TransformerConfig& config, const GenerationOptions& options) {
  const std::int64_t room = context_of(config, options);
  const WatchOptions watch = options.watch.value_or(WatchOptions{.top = 0});
  return cache_bytes(config, room, options.cache) + dropping_bytes(config, room, options.cache, options.audit) +
         StepObserver::bytes(config, watch, room);
}

}  // namespace sightline::model
