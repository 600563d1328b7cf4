#include "src/engine/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"

namespace sightline::engine {
namespace {

bool holds(const std::vector<std::int32_t>& ids, std::int32_t id) { return std::ranges::find(ids, id) != ids.end(); }

std::vector<std::int32_t> ids_of(const std::vector<LookToken>& tokens) {
  std::vector<std::int32_t> ids;
  for (const LookToken& token : tokens) ids.push_back(token.id);
  return ids;
}

DecodingOptions decoding_options(const GenerationOptions& options, const Generation::Start& start,
                                 const std::vector<std::int32_t>& segments) {
  if (options.max_tokens < -1) {
    throw BadArgument(fmt::format("n is {}: it can be -1 (until the text ends), 0 or more", options.max_tokens));
  }
  DecodingOptions decoding;
  decoding.room = options.context;
  decoding.cache = options.cache;
  decoding.sampling = options.sampling;
  decoding.threads = start.threads;
  decoding.watch = options.watch;
  decoding.segments = {segments, kSegmentGenerated, kGenerationSegments};
  decoding.log_probability = options.log_probability;
  decoding.piece = options.piece;
  decoding.progress = options.progress;
  return decoding;
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

Generation::Generation(Start start, const GenerationOptions& options)
    : prompt_(start.prompt),
      prompt_segments_(segments_of(prompt_, start.model.transformer.config().causal)),
      end_tokens_(start.end_tokens),
      stop_tokens_(options.stop_tokens),
      max_tokens_(options.max_tokens),
      log_probability_(options.log_probability),
      decoding_(start.model.transformer, ids_of(prompt_), decoding_options(options, start, prompt_segments_)),
      stream_(start.model.tokenizer, decoding_.tokens()),
      stops_(options.stop_texts) {
  if (max_tokens_ == 0) end_ = GenerationEnd{};
}

std::optional<GeneratedToken> Generation::next() {
  if (end_) return std::nullopt;
  GeneratedToken token;
  token.id = decoding_.next();
  token.sight = decoding_.sight();
  if (log_probability_) token.log_probability = decoding_.log_probability();
  end_ = end_of(token.id);
  if (!end_) token.text = stops_.add(stream_.add(token.id));
  if (stops_.found()) end_ = GenerationEnd{EndKind::stop_text, -1, *stops_.found()};
  if (!end_ && std::cmp_equal(tokens().size(), max_tokens_)) end_ = GenerationEnd{};
  token.text = taken(std::move(token.text));
  if (end_) token.text += flush();
  return token;
}

const GenerationEnd& Generation::run(const OnToken& on_token) {
  while (const std::optional<GeneratedToken> token = next()) {
    if (!on_token(*token) && !end_) end_ = GenerationEnd{EndKind::cancelled, -1, {}};
  }
  return *end_;
}

std::string Generation::flush() {
  std::string rest = stops_.add(stream_.finish());
  return taken(rest + stops_.finish());
}

std::optional<GenerationEnd> Generation::end_of(std::int32_t token) const {
  if (holds(end_tokens_, token)) return GenerationEnd{EndKind::end_token, token, {}};
  if (holds(stop_tokens_, token)) return GenerationEnd{EndKind::stop_token, token, {}};
  return std::nullopt;
}

std::string Generation::taken(std::string text) {
  text_ += text;
  return text;
}

}  // namespace sightline::engine
