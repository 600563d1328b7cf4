#include <gtest/gtest.h>

#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/format/testing.h"

namespace sightline::engine {
namespace {

using Ids = std::vector<std::int32_t>;
using model::GeneratedToken;
using model::Generation;
using model::GenerationOptions;
using model::WatchOptions;

// A byte-level decoder of 399 tokens: random weights, so that its text is cut into bytes anywhere.
const Session& tiny() {
  static const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"));
  return session;
}

Generation ended(const Session& session, const GenerationOptions& options, const std::string& prompt = "the cat") {
  Generation generation = session.generate(prompt, options).generation;
  std::string text;
  generation.run([&](const GeneratedToken& token) { return text += token.text, true; });
  EXPECT_EQ(text, generation.text());
  return generation;
}

// A vocabulary whose pieces say that a word begins, not that a space comes before.
TEST(Generation, TextGoesOnFromThePrompt) {
  const format::TestDirectory directory;
  testing::write_decoder(directory.path() / "words", "llama", true);
  const Session session = Session::open(directory.path() / "words");
  const auto tokenizer = tokenizer::Tokenizer::open(directory.path() / "words");
  GenerationOptions options{.max_tokens = 12};
  options.sampling = {.temperature = 1, .seed = 3};
  const Generation generation = ended(session, options, "the cat");
  Ids all;
  all = generation.prompt().ids;
  const std::string prompt = tokenizer.decode(all, true);
  for (const std::int32_t id : generation.tokens()) {
    if (id < static_cast<std::int32_t>(tokenizer.vocabulary_size())) all.push_back(id);
  }
  EXPECT_EQ(prompt + generation.text(), tokenizer.decode(all, true));
}

TEST(Generation, ContextIsTheModelsOrFourThousand) {
  EXPECT_EQ(tiny().generate("the cat").generation.context(), 256);
  const format::TestDirectory directory;
  testing::write_decoder(directory.path() / "long", "llama", true, 9000);
  EXPECT_EQ(Session::open(directory.path() / "long").generate("the cat").generation.context(), model::kDefaultContext);
}

TEST(Generation, RefusesEmptyPromptsUnlessATokenBeginsThem) {
  EXPECT_THROW(tiny().generate(""), BadArgument);
  const format::TestDirectory directory;
  testing::write_decoder(directory.path() / "bos", "llama", true);
  const Session session = Session::open(directory.path() / "bos");
  EXPECT_EQ(ended(session, {.max_tokens = 3}, "").tokens().size(), 3u);
}

TEST(Generation, PlansItsMemory) {
  const MemoryPlan plain = tiny().plan_generation(), small = tiny().plan_generation({.context = 16});
  EXPECT_EQ(plain.kept, 2 * 2 * 256 * 2 * 8 * 4);  // layers, kv heads, tokens, keys and values, D, fp32
  EXPECT_EQ(small.kept * 16, plain.kept);
  EXPECT_GT(tiny().plan_generation({.watch = WatchOptions{.key_mass = true}}).kept, plain.kept);
  SessionOptions scarce;
  scarce.memory = plain.total() - 1;
  const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"), scarce);
  EXPECT_THROW(session.generate("the cat"), OutOfMemory);
  EXPECT_NO_THROW(session.generate("the cat", {.context = 16}));
}

// A conversation of many messages has as many segments, and a row a number for each.
TEST(Generation, PlansItsMemoryWithTheSegmentsOfThePrompt) {
  const GenerationOptions watched{.watch = WatchOptions{}};
  const MemoryPlan few = tiny().plan_generation(watched), many = tiny().plan_generation(watched, 10'000);
  const std::int64_t more = std::int64_t{4} * 4 * 256 * (10'000 - 3);  // bytes, query heads, rows, segments
  EXPECT_EQ(many.workspace - few.workspace, more);
  Prompt prompt(std::string(100, 'a'));
  for (std::size_t i = 0; i < 100; ++i) prompt.segments.push_back({"s" + std::to_string(i), i, i + 1});
  SessionOptions scarce;
  scarce.memory = few.total();
  const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"), scarce);
  EXPECT_THROW(session.generate(prompt, watched), OutOfMemory);
  EXPECT_NO_THROW(session.generate(prompt.text, watched));
  EXPECT_THROW(session.require_run_memory(watched, 100), OutOfMemory);
}

TEST(Generation, ReadsSpecialTokensInThePromptWhenAsked) {
  const format::TestDirectory directory;
  testing::write_decoder(directory.path() / "bos", "llama", true);
  const Session session = Session::open(directory.path() / "bos");
  const auto count = [&](bool special) {
    return std::ranges::count(session.generate({"the [BOS] cat", special}).prompt, 1, &LookToken::id);
  };
  EXPECT_EQ(count(false), 1);
  EXPECT_EQ(count(true), 2);
}

}  // namespace
}  // namespace sightline::engine
