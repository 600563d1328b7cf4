// What a generation gives depends on its tokens alone: not on the batch, threads, the SIMD target, pieces or pages.

#include <gtest/gtest.h>

#include "src/cpu/target.h"
#include "src/generation/decoding.h"
#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

constexpr std::size_t kSteps = 6;

// Tokens, and the bits of their log-probabilities and of all that was observed.
struct Trace {
  std::vector<std::int32_t> tokens;
  std::string bits;

  friend bool operator==(const Trace&, const Trace&) = default;
};

std::string bits_of(double value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

std::string bits_of(const StepSight& sight) {
  std::string bytes(reinterpret_cast<const char*>(sight.top_key.data()), sight.top_key.size() * sizeof(std::int32_t));
  for (const auto* values :
       {&sight.entropy, &sight.sink_weight, &sight.top_weight, &sight.segment_mass, &sight.key_mass}) {
    bytes += bytes_of(*values);
  }
  return bytes;
}

PromptTokens prompt_of(const Transformer& transformer, std::int64_t length, unsigned seed) {
  PromptTokens prompt{random_text(transformer, length, seed).ids, {}, 2};
  for (std::int64_t i = 0; i < length; ++i) prompt.segments.push_back(static_cast<std::int32_t>(i % 3) - 1);
  return prompt;
}

Trace trace(const Transformer& transformer, const PromptTokens& prompt, DecodingOptions options) {
  options.room = static_cast<std::int64_t>(prompt.ids.size() + kSteps);
  options.log_probability = true;
  Decoding decoding(transformer, prompt, options);
  Trace result;
  for (std::size_t i = 0; i < kSteps; ++i) {
    result.tokens.push_back(decoding.next());
    result.bits += bits_of(decoding.log_probability());
    if (decoding.sight() != nullptr) result.bits += bits_of(*decoding.sight());
  }
  return result;
}

DecodingOptions watched() {
  DecodingOptions options;
  options.threads = 1;
  options.watch = WatchOptions{.top = 3, .key_mass = true};
  return options;
}

class InvarianceTest : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override { cpu::force_target(""); }
  const Transformer transformer_ = Transformer::load(conformance("models") / GetParam());
};

TEST_P(InvarianceTest, AnyThreadsTargetsAndPieces) {
  const PromptTokens prompt = prompt_of(transformer_, 23, 1);
  const Trace want = trace(transformer_, prompt, watched());
  for (const int threads : {2, 3}) {
    for (const std::int64_t piece : {1, 7, 512}) {
      DecodingOptions options = watched();
      options.threads = threads;
      options.piece = piece;
      options.cache.page_size = piece == 7 ? 16 : 0;
      EXPECT_TRUE(want == trace(transformer_, prompt, options)) << threads << " threads, pieces of " << piece;
    }
  }
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    EXPECT_TRUE(want == trace(transformer_, prompt, watched())) << target;
  }
}

// Prompts of several lengths in contexts of their own, one forward pass a step for all of them.
TEST_P(InvarianceTest, ABatchIsItsTextsAlone) {
  std::vector<PromptTokens> prompts;
  std::vector<Context> contexts;
  for (const std::int64_t length : {5, 1, 17, 9}) {
    prompts.push_back(prompt_of(transformer_, length, static_cast<unsigned>(length)));
    contexts.push_back(transformer_.make_context(length + static_cast<std::int64_t>(kSteps)));
  }
  std::vector<Trace> together(prompts.size());
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::vector<TokenSequence> batch;
    for (std::size_t s = 0; s < prompts.size(); ++s) {
      const std::span<const std::int32_t> ids = step == 0 ? prompts[s].ids : together[s].tokens;
      batch.push_back({step == 0 ? ids : ids.last(1), {}, &contexts[s]});
    }
    const ForwardResult result = transformer_.forward(batch, {.threads = 2, .logits = LogitRows::last});
    const std::size_t vocabulary = result.logits.size() / prompts.size();
    for (std::size_t s = 0; s < prompts.size(); ++s) {
      const auto logits = std::span(result.logits).subspan(s * vocabulary, vocabulary);
      const auto best = std::ranges::max_element(logits) - logits.begin();
      together[s].tokens.push_back(static_cast<std::int32_t>(best));
      together[s].bits += bits_of(ops::log_probability(logits, together[s].tokens.back()));
    }
  }
  for (std::size_t s = 0; s < prompts.size(); ++s) {
    EXPECT_TRUE(together[s] == trace(transformer_, prompts[s], DecodingOptions())) << "text " << s;
  }
}

// Caches of other types have bits of their own, which pieces, threads and pages do not change either, nor targets.
TEST_P(InvarianceTest, EveryCacheType) {
  const PromptTokens prompt = prompt_of(transformer_, 19, 2);
  const Trace exact = trace(transformer_, prompt, watched());
  for (const DType type : {DType::f16, DType::bf16, DType::i8_row}) {
    DecodingOptions options = watched();
    options.cache = {.keys = type, .values = type};
    const Trace want = trace(transformer_, prompt, options);
    EXPECT_FALSE(want.bits == exact.bits) << dtype_name(type);
    for (const std::int64_t piece : {1, 7}) {
      options.piece = piece;
      options.threads = piece == 7 ? 3 : 2;
      options.cache.page_size = piece == 7 ? 16 : 0;
      EXPECT_TRUE(want == trace(transformer_, prompt, options)) << dtype_name(type) << ", pieces of " << piece;
    }
    if (type != DType::i8_row) continue;  // the one whose rows are made of more than one step
    for (const std::string& target : cpu::available_targets()) {
      cpu::force_target(target);
      EXPECT_TRUE(want == trace(transformer_, prompt, options)) << target;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, InvarianceTest, testing::ValuesIn(model_names("decoder")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sightline::model
