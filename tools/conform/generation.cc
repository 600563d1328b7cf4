#include "tools/conform/generation.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/generation/decoding.h"
#include "tools/conform/forward.h"
#include "tools/conform/recorder.h"

namespace sightline::conform {
namespace {

std::vector<float> last_logits(const model::Transformer& transformer, std::span<const std::int32_t> text) {
  const model::TokenSequence sequence{text};
  model::ForwardOptions options;
  options.logits = model::LogitRows::last;
  return transformer.forward({&sequence, 1}, options).logits;
}

// One step of all texts: their next tokens, and the logits that chose them.
void step(const model::Transformer& transformer, std::span<const model::TokenSequence> given, Generation& generation) {
  model::ForwardOptions options;
  options.logits = model::LogitRows::last;
  const std::vector<float> logits = transformer.forward(given, options).logits;
  const std::size_t vocabulary = logits.size() / given.size();
  for (std::size_t s = 0; s < given.size(); ++s) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(s * vocabulary);
    const auto& row = generation.logits[s].emplace_back(begin, begin + static_cast<std::ptrdiff_t>(vocabulary));
    const auto token = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
    generation.tokens[s].push_back(token);
    generation.whole_texts[s].push_back(token);
  }
}

}  // namespace

Generation generate(const model::Transformer& transformer, std::span<const model::TokenSequence> prompts,
                    std::size_t steps) {
  Generation generation;
  std::vector<model::Context> contexts;
  for (const model::TokenSequence& prompt : prompts) {
    generation.whole_texts.emplace_back(prompt.ids.begin(), prompt.ids.end());
    contexts.push_back(transformer.make_context(static_cast<std::int64_t>(prompt.ids.size() + steps)));
  }
  generation.tokens.resize(prompts.size());
  generation.logits.resize(prompts.size());
  std::vector<model::TokenSequence> given(prompts.begin(), prompts.end());
  for (std::size_t s = 0; s < given.size(); ++s) given[s].context = &contexts[s];
  for (std::size_t n = 0; n < steps; ++n) {
    step(transformer, given, generation);
    for (std::size_t s = 0; s < given.size(); ++s) given[s].ids = std::span(generation.tokens[s]).last(1);
  }
  return generation;
}

void expect_same_as_uncached(const model::Transformer& transformer, const Generation& generation) {
  for (std::size_t s = 0; s < generation.tokens.size(); ++s) {
    const std::span<const std::int32_t> text = generation.whole_texts[s];
    expect(last_logits(transformer, text.first(text.size() - 1)) == generation.logits[s].back(),
           fmt::format("text {}: the last step's logits are not those of a pass without a context", s));
  }
}

// One by one, as the library generates: the prompt token by token and at once, watched and not.
void expect_same_as_decoding(const model::Transformer& transformer, const Generation& generation) {
  for (std::size_t s = 0; s < generation.tokens.size(); ++s) {
    const std::span<const std::int32_t> text = generation.whole_texts[s], tokens = generation.tokens[s];
    const auto prompt = text.first(text.size() - tokens.size());
    for (const std::int64_t piece : {1, 512}) {
      model::DecodingOptions options;
      options.room = static_cast<std::int64_t>(text.size());
      options.piece = piece;
      options.log_probability = true;
      if (piece == 1) options.watch = model::WatchOptions{};
      model::Decoding decoding(transformer, {{prompt.begin(), prompt.end()}}, options);
      for (std::size_t n = 0; n < tokens.size(); ++n) {
        expect(decoding.next() == tokens[n], fmt::format("text {}: token {} is another when it is alone", s, n));
      }
      expect(decoding.log_probability() == ops::log_probability(generation.logits[s].back(), tokens.back()),
             fmt::format("text {}: the last token has another log-probability when it is alone", s));
    }
  }
}

void check_generation(const model::Transformer& transformer, const format::SafetensorsFile& file,
                      const std::string& name) {
  const Batch prompt(file.at(name + ".prompt"), nullptr, nullptr);
  const Array tokens = to_array(file.at(name + ".tokens"));
  const Generation got = generate(transformer, prompt.sequences(), tokens.values.size());
  expect_close("tokens", {tokens.shape, {got.tokens[0].begin(), got.tokens[0].end()}}, tokens, {});
  expect_same_as_uncached(transformer, got);
  expect_same_as_decoding(transformer, got);
}

}  // namespace sightline::conform
