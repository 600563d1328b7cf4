#include "src/generation/decoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"

namespace sightline::model {
namespace {

// A pass reports for each layer anew; the caller hears of whole pieces, and can stop within one.
class PieceProgress : public Progress {
 public:
  PieceProgress(Progress* caller, std::int64_t done, std::int64_t total)
      : caller_(caller), done_(done), total_(total) {}
  Progress* hook() { return caller_ == nullptr ? nullptr : this; }
  bool advance(std::int64_t, std::int64_t) override { return caller_->advance(done_, total_); }

 private:
  Progress* caller_;
  std::int64_t done_, total_;
};

void require_prompt(const PromptTokens& prompt, std::int64_t room) {
  const std::size_t length = prompt.ids.size();
  if (length == 0) throw BadArgument("the prompt has no token: give a text");
  if (std::cmp_greater(length, room)) {
    throw BadArgument(
        fmt::format("the prompt has {} tokens and the context holds {}: shorten it, or make the context larger (-c)",
                    length, room));
  }
  if (prompt.segments.empty()) return;
  const auto known = [&](std::int32_t segment) { return segment >= -1 && segment < prompt.segment_count; };
  if (prompt.segments.size() != length || !std::ranges::all_of(prompt.segments, known)) {
    throw BadArgument(
        fmt::format("segments must be as many as tokens ({}), each -1 to {}", length, prompt.segment_count - 1));
  }
}

}  // namespace

std::int64_t cache_bytes(const TransformerConfig& config, std::int64_t room, const ContextOptions& cache) {
  const auto row = row_bytes(cache.keys, config.head_width) + row_bytes(cache.values, config.head_width);
  return config.layers * config.kv_heads * room * static_cast<std::int64_t>(row);
}

Decoding::Decoding(Transformer transformer, PromptTokens prompt, const DecodingOptions& options)
    : transformer_(std::move(transformer)),
      options_(options),
      context_(transformer_.make_context(options.room, options.cache)),
      sampler_(options.sampling),
      prompt_(std::move(prompt)),
      tokens_(prompt_.ids),
      segments_(prompt_.segments) {
  require_prompt(prompt_, context_.room());
  if (options.piece < 1)
    throw BadArgument(fmt::format("a piece of {} tokens was asked for: it can be 1", options.piece));
  if (options.watch) observer_.emplace(transformer_.config(), *options.watch, context_.room());
  segments_.resize(tokens_.size(), -1);
}

bool Decoding::is_full() const { return std::ssize(tokens_) > context_.room(); }

std::int32_t Decoding::next() {
  if (is_full()) {
    throw BadArgument(
        fmt::format("the context is full: it holds {} tokens; make it larger (-c, the model takes up to {}) "
                    "or ask for fewer tokens (-n)",
                    room(), transformer_.config().max_positions));
  }
  const std::vector<float> logits = advance();
  const std::optional<std::int32_t> token = sampler_.next(logits, tokens_);
  if (!token) throw BadFile("the model gives no number for any next token: its weights are damaged");
  if (options_.log_probability) log_probability_ = ops::log_probability(logits, *token);
  tokens_.push_back(*token);
  segments_.push_back(prompt_.generated());
  return *token;
}

void Decoding::watch_head(int head) {
  if (!observer_) throw BadArgument("no head can be watched in a generation that is not: ask for it in its options");
  observer_->watch_head(head);
}

std::int32_t Decoding::segment_count() const { return prompt_.segments.empty() ? 0 : prompt_.segment_count + 1; }

// What is not in the context yet goes through: the prompt in pieces, the newest row by itself where it is watched, so
// that the rows before it need no room for what is observed.
std::vector<float> Decoding::advance() {
  const auto left = [this] { return std::ssize(tokens_) - context_.length(); };
  const std::int64_t last = observer_ ? 1 : options_.piece;
  while (left() > last) run(std::min(options_.piece, left() - (observer_ ? 1 : 0)), /*newest=*/false);
  return run(left(), /*newest=*/true);
}

std::vector<float> Decoding::run(std::int64_t count, bool newest) {
  const auto begin = static_cast<std::size_t>(context_.length()), end = begin + static_cast<std::size_t>(count);
  const TokenSequence text{std::span(tokens_).subspan(begin, end - begin), {}, &context_};
  const std::int64_t prompt_length = std::ssize(prompt_.ids);
  PieceProgress progress(options_.progress, std::min(context_.length(), prompt_length), prompt_length);
  const bool observed = observer_ && (newest || observer_->sums_mass());
  if (observed) observer_->begin(count, std::span(segments_).first(end), segment_count(), newest);
  return transformer_
      .forward({&text, 1}, {.threads = options_.threads,
                            .observer = observed ? &*observer_ : nullptr,
                            .progress = progress.hook(),
                            .logits = newest ? LogitRows::last : LogitRows::none})
      .logits;
}

}  // namespace sightline::model
