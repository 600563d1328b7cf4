#include <gtest/gtest.h>

#include <fstream>

#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/format/gguf_testing.h"
#include "src/format/testing.h"
#include "src/generation/stop_text.h"
#include "src/model/end_tokens.h"

namespace sightline::engine {
namespace {

using format::error_of;
using Ids = std::vector<std::int32_t>;
using model::end_name;
using model::end_tokens;
using model::GeneratedToken;
using model::Generation;
using model::GenerationOptions;
using model::StopText;
using model::WatchOptions;

// A byte-level decoder of 399 tokens: random weights, so that its text is cut into bytes anywhere.
const Session& tiny() {
  static const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"));
  return session;
}

Ids ids_of(const Generation& generation) { return {generation.tokens().begin(), generation.tokens().end()}; }

Generation ended(const Session& session, const GenerationOptions& options, const std::string& prompt = "the cat") {
  Generation generation = session.generate(prompt, options).generation;
  std::string text;
  generation.run([&](const GeneratedToken& token) { return text += token.text, true; });
  EXPECT_EQ(text, generation.text());
  return generation;
}

TEST(Generation, StopsAfterAsManyTokensAsWereAsked) {
  for (const std::int64_t count : {0, 1, 7, 40}) {
    const Generation generation = ended(tiny(), {.max_tokens = count});
    EXPECT_EQ(std::ssize(generation.tokens()), count);
    EXPECT_EQ(end_name(*generation.end()), "length");
  }
  EXPECT_THROW(tiny().generate("the cat", {.max_tokens = -2}), BadArgument);
}

TEST(Generation, JoinedTextIsDecodingAtOnce) {
  const auto tokenizer = tokenizer::Tokenizer::open(testing::source_path("tests/data/tiny-decoder"));
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    GenerationOptions options{.max_tokens = 30};
    options.sampling = {.temperature = 20, .seed = seed};
    const Generation generation = ended(tiny(), options);
    EXPECT_EQ(generation.text(), tokenizer.decode(ids_of(generation), true));
  }
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

TEST(Generation, ASeedGivesOneText) {
  const auto text = [](std::uint64_t seed, std::int64_t piece) {
    GenerationOptions options{.max_tokens = 20};
    options.sampling = {.temperature = 20, .top_k = 100, .top_p = 0.99999, .repeat_penalty = 1.1, .seed = seed};
    options.piece = piece;
    return ids_of(ended(tiny(), options));
  };
  EXPECT_EQ(text(1, 512), text(1, 1));
  EXPECT_NE(text(1, 512), text(2, 512));
}

// The tiny decoder with the end tokens that its files name.
Session with_ends(const format::TestDirectory& directory, const std::string& generation, const std::string& config) {
  std::filesystem::copy(testing::source_path("tests/data/tiny-decoder"), directory.path() / "model");
  const std::filesystem::path model = directory.path() / "model";
  std::filesystem::permissions(model, std::filesystem::perms::owner_all);
  if (!generation.empty()) std::ofstream(model / "generation_config.json") << generation;
  if (!config.empty()) {
    auto json = nlohmann::json::parse(format::read_file(model / "config.json", 1 << 20));
    json["eos_token_id"] = nlohmann::json::parse(config);
    std::filesystem::permissions(model / "config.json", std::filesystem::perms::owner_all);
    std::ofstream(model / "config.json") << json;
  }
  return Session::open(model);
}

// R9-06 of the reports: the model's own tokens take the places of those in the case.
TEST(Generation, EndsAtAnyEndTokenOfGenerationConfigElseOfConfig) {
  GenerationOptions options;
  options.sampling = {.temperature = 3, .seed = 1};  // its likeliest tokens are all the same
  options.max_tokens = 12;
  const Ids emitted = ids_of(ended(tiny(), options));
  std::size_t at = 1;  // a token that did not come before
  while (std::find(emitted.begin(), emitted.begin() + static_cast<std::ptrdiff_t>(at), emitted[at]) !=
         emitted.begin() + static_cast<std::ptrdiff_t>(at)) {
    ASSERT_LT(++at, emitted.size());
  }
  const std::string end = std::to_string(emitted[at]), first = std::to_string(emitted[0]);
  const Ids until_end(emitted.begin(), emitted.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  const auto run = [&](const std::string& generation, const std::string& config, std::int64_t count) {
    const format::TestDirectory directory;
    options.max_tokens = count;
    return ended(with_ends(directory, generation, config), options);
  };
  const auto expect = [&](const Generation& got, const Ids& ids, const std::string& finish) {
    EXPECT_EQ(ids_of(got), ids);
    EXPECT_EQ(end_name(*got.end()), finish);
  };
  expect(run(R"({"eos_token_id": [398, )" + end + "]}", "398", 12), until_end, "eos " + end);
  expect(run(R"({"eos_token_id": )" + end + "}", first, 12), until_end, "eos " + end);
  expect(run(R"({"eos_token_id": null})", "null", 3), {emitted.begin(), emitted.begin() + 3}, "length");
  expect(run(R"({"eos_token_id": null})", first, 12), {emitted[0]}, "eos " + first);
  expect(run("", "[" + end + "]", 12), until_end, "eos " + end);
  EXPECT_EQ(run(R"({"eos_token_id": )" + first + "}", "", 12).text(), "");  // hidden in the text
}

TEST(EndTokens, RefusesWhatIsNone) {
  for (const char* value : {"\"2\"", "2.5", "[1, null]", "[[1]]", "4294967296", "-2", "{}"}) {
    const format::TestDirectory directory;
    std::ofstream(directory.path() / "generation_config.json") << R"({"eos_token_id": )" << value << "}";
    const std::string error = error_of<BadFile>([&] { end_tokens(directory.path()); });
    EXPECT_NE(error.find("generation_config.json: \"eos_token_id\""), std::string::npos) << error;
  }
}

TEST(EndTokens, OfGgufFilesAreItsThreeKeys) {
  const format::TestDirectory directory;
  format::GgufBuilder builder;
  builder.number("tokenizer.ggml.eos_token_id", std::uint32_t{9})
      .number("tokenizer.ggml.eot_token_id", std::uint32_t{4})
      .number("tokenizer.ggml.eom_token_id", UINT32_MAX);
  std::ofstream(directory.path() / "model.gguf", std::ios::binary) << builder.bytes();
  EXPECT_EQ(end_tokens(directory.path() / "model.gguf"), (Ids{4, 9}));
}

TEST(Generation, EndsAtTheUsersTokensAndTexts) {
  const Generation whole = ended(tiny(), {.max_tokens = 30});
  const Ids ids = ids_of(whole);
  const Generation at_token = ended(tiny(), {.max_tokens = 30, .stop_tokens = {ids[0]}});
  EXPECT_EQ(end_name(*at_token.end()), "stop " + std::to_string(ids[0]));
  const std::string stop = whole.text().substr(whole.text().size() / 2, 3);
  const Generation at_text = ended(tiny(), {.max_tokens = 30, .stop_texts = {"no such text", stop}});
  EXPECT_EQ(end_name(*at_text.end()), "stop text");
  EXPECT_EQ(at_text.end()->text, stop);
  EXPECT_EQ(at_text.text(), whole.text().substr(0, whole.text().find(stop)));
  EXPECT_THROW(tiny().generate("the cat", {.stop_texts = {""}}), BadArgument);
}

TEST(StopText, HoldsBackWhatMayBeOne) {
  StopText stops({"ab", "abcd", "\n\nQ"});
  EXPECT_EQ(stops.add("xa"), "x");
  EXPECT_EQ(stops.add("a\n"), "aa");
  EXPECT_EQ(stops.add("\n"), "");
  EXPECT_EQ(stops.add("R"), "\n\nR");
  EXPECT_EQ(stops.add("a"), "");
  EXPECT_EQ(stops.finish(), "a");
  EXPECT_FALSE(stops.found());
  EXPECT_EQ(stops.add("yabcdz"), "y");
  EXPECT_EQ(stops.found(), "abcd");  // the longest of those that begin first
  EXPECT_EQ(stops.add("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(Generation, AFullContextIsAnErrorAfterTheText) {
  Generation generation = tiny().generate("the cat", {.context = 10}).generation;
  std::string text;
  const std::string error =
      error_of<BadArgument>([&] { generation.run([&](const auto& token) { return text += token.text, true; }); });
  EXPECT_NE(error.find("the context is full: it holds 10 tokens"), std::string::npos) << error;
  EXPECT_NE(error.find("the model takes up to 256"), std::string::npos) << error;
  EXPECT_EQ(generation.tokens().size(), 11 - generation.prompt().ids.size());
  EXPECT_EQ(text + generation.flush(), generation.text());
  EXPECT_FALSE(generation.end());
  EXPECT_TRUE(generation.is_full());
}

// Wherever it stops, inside a character too.
TEST(Generation, CancellingLeavesWhatThereIs) {
  const auto tokenizer = tokenizer::Tokenizer::open(testing::source_path("tests/data/tiny-decoder"));
  int held = 0;
  for (int count = 1; count < 30; ++count) {
    GenerationOptions options{.max_tokens = 30};
    options.sampling = {.temperature = 3, .seed = 5};
    Generation generation = tiny().generate("the cat", options).generation;
    int seen = 0;
    EXPECT_EQ(end_name(generation.run([&](const auto&) { return ++seen < count; })), "cancelled");
    EXPECT_EQ(std::ssize(generation.tokens()), count);
    EXPECT_FALSE(generation.next());
    held += generation.flush() == "\xEF\xBF\xBD";
    EXPECT_EQ(generation.text(), tokenizer.decode(ids_of(generation), true));
  }
  EXPECT_GT(held, 0);
}

TEST(Generation, ContextIsTheModelsOrFourThousand) {
  EXPECT_EQ(tiny().generate("the cat").generation.context(), 256);
  EXPECT_EQ(tiny().generate("the cat", {.context = 32}).generation.context(), 32);
  const std::string error = error_of<BadArgument>([] { tiny().generate("the cat", {.context = 257}); });
  EXPECT_NE(error.find("takes at most 256"), std::string::npos) << error;
  const format::TestDirectory directory;
  testing::write_decoder(directory.path() / "long", "llama", true, 9000);
  EXPECT_EQ(Session::open(directory.path() / "long").generate("the cat").generation.context(), model::kDefaultContext);
}

TEST(Generation, RefusesModelsThatWriteNoText) {
  const Session encoder = Session::open(testing::tiny_model());
  const std::string error = error_of<BadArgument>([&] { encoder.generate("the cat"); });
  EXPECT_NE(error.find("writes no text"), std::string::npos) << error;
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
