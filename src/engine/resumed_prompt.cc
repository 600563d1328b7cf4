#include "src/engine/resumed_prompt.h"

#include <algorithm>

#include "src/tokenizer/text_stream.h"

namespace sightline::engine {

model::PromptTokens ReadPrompt::ids() const {
  model::PromptTokens read;
  for (const LookToken& token : tokens) read.ids.push_back(token.id);
  read.segments = segments.of_token;
  read.segment_count = segments.count();
  return read;
}

void ReadPrompt::append(const ReadPrompt& more) {
  const std::int32_t before = segments.count();
  for (const std::string& name : more.segments.names) {
    if (std::ranges::find(segments.names, name) == segments.names.end()) segments.names.push_back(name);
  }
  for (std::int32_t& segment : segments.of_token) {
    if (segment == before) segment = segments.count();  // what was generated comes last
  }
  for (const std::int32_t segment : more.segments.of_token) {
    const auto place = std::ranges::find(segments.names, more.segments.names[static_cast<std::size_t>(segment)]);
    segments.of_token.push_back(static_cast<std::int32_t>(place - segments.names.begin()));
  }
  const std::size_t characters = tokens.empty() ? 0 : tokens.back().char_end, bytes = text.size();
  for (LookToken token : more.tokens) {
    token.byte_begin += bytes;
    token.byte_end += bytes;
    token.char_begin += characters;
    token.char_end += characters;
    tokens.push_back(std::move(token));
  }
  text += more.text;
}

std::string state_text(const model::GenerationState& state, const tokenizer::Tokenizer& tokenizer,
                       tokenizer::Encoding& encoding) {
  tokenizer::TextStream stream(tokenizer);
  std::string text;
  for (const std::int32_t id : state.tokens()) {
    tokenizer::Token token;
    token.id = id;
    // Models have rows to spare, which the vocabulary does not name and a sampler may still take.
    if (std::cmp_less(id, tokenizer.vocabulary_size())) token.piece = tokenizer.piece_of(id);
    token.special = !token.piece.empty() && tokenizer.is_special(id);
    token.begin = text.size();
    text += stream.add(id);
    token.end = text.size();
    token.sequence = token.special ? -1 : 0;
    encoding.tokens.push_back(std::move(token));
  }
  text += stream.finish();
  encoding.tokens.back().end = text.size();
  return text;
}

Segments state_segments(const model::GenerationState& state, std::span<const LookToken> tokens, bool causal) {
  const model::PromptTokens prompt = state.prompt();
  const std::vector<std::string>& names = state.segment_names();
  const bool named = !prompt.segments.empty() && std::cmp_equal(names.size(), prompt.segment_count) &&
                     std::ranges::none_of(prompt.segments, [](std::int32_t segment) { return segment < 0; }) &&
                     names.size() >= std::size(kFixedSegmentNames) &&
                     std::equal(std::begin(kFixedSegmentNames), std::end(kFixedSegmentNames), names.begin());
  return named ? Segments{names, prompt.segments} : segments_of(tokens, causal);
}

}  // namespace sightline::engine
