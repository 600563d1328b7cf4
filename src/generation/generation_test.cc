// Generation as a user of the library has it: sightline/generation.h and what model::open() gives.
#include "sightline/generation.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/testing.h"

namespace sightline::model {
namespace {

namespace fs = std::filesystem;
using format::error_of;
using Ids = std::vector<std::int32_t>;

const fs::path kTiny = fs::path(SIGHTLINE_SOURCE_DIR) / "tests/data/tiny-decoder";

// A byte-level decoder of 399 tokens: random weights, so that its text is cut into bytes anywhere. It has an end token,
// which such weights give anywhere, too: it is set aside.
const Model& tiny() {
  static const Model model = [] {
    Model opened = open(kTiny);
    EXPECT_EQ(opened.end_tokens, Ids{398});
    opened.end_tokens.clear();
    return opened;
  }();
  return model;
}

Ids ids_of(const Generation& generation) { return {generation.tokens().begin(), generation.tokens().end()}; }

Generation ended(const Model& model, const GenerationOptions& options, const std::string& prompt = "the cat") {
  Generation generation(model, prompt, options);
  std::string text;
  generation.run([&](const GeneratedToken& token) { return text += token.text, true; });
  EXPECT_EQ(text, generation.text());
  return generation;
}

GenerationOptions sampled(std::int64_t count, double temperature, std::uint64_t seed) {
  GenerationOptions options{.max_tokens = count};
  options.sampling = {.temperature = temperature, .seed = seed};
  return options;
}

TEST(Generation, StopsAfterAsManyTokensAsWereAsked) {
  for (const std::int64_t count : {0, 1, 7, 40}) {
    const Generation generation = ended(tiny(), {.max_tokens = count});
    EXPECT_EQ(std::ssize(generation.tokens()), count);
    EXPECT_EQ(end_name(*generation.end()), "length");
  }
  EXPECT_THROW(Generation(tiny(), "the cat", {.max_tokens = -2}), BadArgument);
}

TEST(Generation, JoinedTextIsDecodingAtOnce) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Generation generation = ended(tiny(), sampled(30, 20, seed));
    EXPECT_EQ(generation.text(), tiny().tokenizer.decode(ids_of(generation), true));
  }
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
Model with_ends(const format::TestDirectory& directory, const std::string& generation, const std::string& config) {
  const fs::path model = directory.path() / "model";
  fs::copy(kTiny, model);
  fs::permissions(model, fs::perms::owner_all);
  if (!generation.empty()) std::ofstream(model / "generation_config.json") << generation;
  if (!config.empty()) {
    auto json = nlohmann::json::parse(format::read_file(model / "config.json", 1 << 20));
    json["eos_token_id"] = nlohmann::json::parse(config);
    fs::permissions(model / "config.json", fs::perms::owner_all);
    std::ofstream(model / "config.json") << json;
  }
  return open(model);
}

// R9-06 of the reports: the model's own tokens take the places of those in the case.
TEST(Generation, EndsAtAnyEndTokenOfGenerationConfigElseOfConfig) {
  GenerationOptions options = sampled(12, 3, 1);  // its likeliest tokens are all the same
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
}

TEST(Generation, RefusesStopsThatNeverCome) {
  EXPECT_THROW(Generation(tiny(), "the cat", {.stop_texts = {""}}), BadArgument);
  for (const std::int32_t token : {-1, 399}) {
    const std::string error = error_of<BadArgument>([&] {
      Generation(tiny(), "the cat", {.stop_tokens = {5, token}});
    });
    EXPECT_NE(error.find(std::to_string(token)), std::string::npos) << error;
    EXPECT_NE(error.find("0 to 398"), std::string::npos) << error;
  }
}

TEST(Generation, AFullContextIsAnErrorAfterTheText) {
  Generation generation(tiny(), "the cat", {.context = 10});
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
  int held = 0;
  for (int count = 1; count < 30; ++count) {
    Generation generation(tiny(), "the cat", sampled(30, 3, 5));
    int seen = 0;
    EXPECT_EQ(end_name(generation.run([&](const auto&) { return ++seen < count; })), "cancelled");
    EXPECT_EQ(std::ssize(generation.tokens()), count);
    EXPECT_FALSE(generation.next());
    held += generation.flush() == "\xEF\xBF\xBD";
    EXPECT_EQ(generation.text(), tiny().tokenizer.decode(ids_of(generation), true));
  }
  EXPECT_GT(held, 0);
}

TEST(Generation, ContextIsTheModelsOrAsAsked) {
  EXPECT_EQ(Generation(tiny(), "the cat").context(), 256);
  EXPECT_EQ(Generation(tiny(), "the cat", {.context = 32}).context(), 32);
  const std::string error = error_of<BadArgument>([] { Generation(tiny(), "the cat", {.context = 257}); });
  EXPECT_NE(error.find("takes at most 256"), std::string::npos) << error;
}

TEST(Generation, RefusesModelsThatWriteNoText) {
  const Model encoder = open(fs::path(SIGHTLINE_SOURCE_DIR) / "tests/data/tiny-bert");
  const std::string error = error_of<BadArgument>([&] { Generation(encoder, "the cat"); });
  EXPECT_NE(error.find("writes no text"), std::string::npos) << error;
}

TEST(Generation, RefusesPromptsThatAreNone) {
  EXPECT_THROW(Generation(tiny(), ""), BadArgument);
  EXPECT_THROW(Generation(tiny(), "\xFF"), BadArgument);
  EXPECT_THROW(Generation(tiny(), PromptTokens{}), BadArgument);
  EXPECT_THROW(Generation(tiny(), {{1, 2}, {0}, 1}), BadArgument);     // a segment for each token
  EXPECT_THROW(Generation(tiny(), {{1, 2}, {0, 2}, 1}), BadArgument);  // to that of what is generated
  for (const std::int32_t id : {-1, 399}) {
    Generation generation(tiny(), PromptTokens{{id}});
    EXPECT_THROW(generation.next(), BadArgument) << id;
    EXPECT_TRUE(generation.tokens().empty());
  }
}

TEST(Generation, RefusesOptionsOutOfRange) {
  const auto refused = [](auto change) {
    GenerationOptions options;
    change(options);
    EXPECT_THROW(Generation(tiny(), "the cat", options), BadArgument);
  };
  refused([](auto& options) { options.context = -1; });
  refused([](auto& options) { options.piece = 0; });
  refused([](auto& options) { options.sampling.temperature = -1; });
  refused([](auto& options) { options.sampling.top_p = 0; });
  refused([](auto& options) { options.sampling.top_k = -1; });
  refused([](auto& options) { options.sampling.min_p = 2; });
  refused([](auto& options) { options.sampling.repeat_penalty = 0; });
  refused([](auto& options) { options.watch = WatchOptions{.top = 65}; });
  refused([](auto& options) { options.watch = WatchOptions{.top = -1}; });
}

// What is seen of each step lies within its shapes, and adds up.
TEST(Generation, SeesWhereEachRowLooked) {
  GenerationOptions options{.max_tokens = 6, .log_probability = true};
  options.watch = WatchOptions{.top = 2, .key_mass = true};
  Generation generation(tiny(), {{84, 72, 69, 3, 9}, {0, 0, 1, 1, -1}, 2}, options);
  std::int64_t row = 4;
  generation.run([&](const GeneratedToken& token) {
    const StepSight& sight = *token.sight;
    EXPECT_EQ(sight.row, row++);
    EXPECT_EQ(sight.keys, row);
    const auto maps = static_cast<std::size_t>(sight.layers * sight.heads);
    EXPECT_EQ(maps, 8u);
    EXPECT_EQ(sight.entropy.size(), maps);
    EXPECT_EQ(sight.top_key.size(), maps * 2);
    EXPECT_EQ(sight.segments, 3);
    EXPECT_EQ(sight.segment_mass.size(), maps * 3);
    EXPECT_EQ(sight.key_mass.size(), maps * static_cast<std::size_t>(sight.keys));
    EXPECT_TRUE(sight.sink_weight.empty());
    EXPECT_LT(*token.log_probability, 0);
    float mass = 0;
    for (const float m : sight.key_mass) mass += m;
    EXPECT_NEAR(mass, static_cast<float>(maps) * static_cast<float>(sight.keys), 1e-3f);  // a row's weights add up to 1
    return true;
  });
  EXPECT_EQ(row, 10);
  EXPECT_EQ(generation.prompt().generated(), 2);
}

static_assert(std::is_nothrow_move_constructible_v<Generation> && std::is_nothrow_move_assignable_v<Generation>);
static_assert(!std::is_copy_constructible_v<Generation>);

// In the middle of a text, and the sight of its newest token with it.
TEST(Generation, MovesAsItIs) {
  GenerationOptions options = sampled(20, 3, 7);
  options.watch = WatchOptions{};
  const Generation whole = ended(tiny(), options);
  Generation first(tiny(), "the cat", options);
  const StepSight* sight = nullptr;
  for (int i = 0; i < 7; ++i) sight = first.next()->sight;
  const Ids before = ids_of(first);
  Generation second = std::move(first);
  EXPECT_EQ(ids_of(second), before);
  EXPECT_EQ(sight->keys, static_cast<std::int64_t>(second.prompt().ids.size()) + 6);
  Generation third(tiny(), "elsewhere", {.max_tokens = 1});
  third.next();
  third = std::move(second);
  third.run([](const auto&) { return true; });
  EXPECT_EQ(ids_of(third), ids_of(whole));
  EXPECT_EQ(third.text(), whole.text());
  first = std::move(third);  // what was moved from takes another
  EXPECT_EQ(end_name(*first.end()), "length");
}

// Neither the model that it was made from nor its options need to outlive the call.
TEST(Generation, KeepsWhatItNeeds) {
  const auto made = [] {
    const Model model = open(kTiny);
    const std::string prompt = "the cat", stop = "no such text";
    return Generation(model, prompt, {.max_tokens = 9, .stop_texts = {stop}});
  };
  Generation generation = made();
  generation.run([](const auto&) { return true; });
  EXPECT_EQ(ids_of(generation), ids_of(ended(tiny(), {.max_tokens = 9})));
}

TEST(Generation, GoesOnAfterWhatACallbackThrew) {
  const Generation whole = ended(tiny(), sampled(12, 3, 2));
  Generation generation(tiny(), "the cat", sampled(12, 3, 2));
  std::string text;
  EXPECT_THROW(generation.run([&](const GeneratedToken& token) -> bool {
    text += token.text;
    throw std::runtime_error("full disk");
  }),
               std::runtime_error);
  EXPECT_EQ(generation.tokens().size(), 1u);
  EXPECT_FALSE(generation.end());
  generation.run([&](const GeneratedToken& token) { return text += token.text, true; });
  EXPECT_EQ(ids_of(generation), ids_of(whole));
  EXPECT_EQ(text, whole.text());
  int calls = 0;
  EXPECT_EQ(generation.run([&](const auto&) { return ++calls, true; }).kind, EndKind::length);  // it has ended
  EXPECT_EQ(calls, 0);
  EXPECT_THROW(Generation(tiny(), "the cat").run({}), BadArgument);
}

// Generations on one model do not see one another: one after the other, interleaved, and in threads of their own.
TEST(Generation, ManyRunAtOnceOnOneModel) {
  constexpr int kCount = 4;
  const auto options = [](int i) {
    GenerationOptions one = sampled(25, 3, static_cast<std::uint64_t>(i));
    one.threads = 1 + i % 2;
    one.watch = WatchOptions{.key_mass = i == 1, .row_weights = i == 3};
    if (i < 2) return one;
    one.cache.drop = parse_drop_rule(i == 2 ? "mass,keep=6" : "sinks+window,keep=9");
    one.audit = i == 2;
    return one;
  };
  const std::string prompts[kCount] = {"the cat", "a", "the animal was too tired", "the cat"};
  std::vector<Ids> want;
  std::vector<Generation> interleaved;
  for (int i = 0; i < kCount; ++i) {
    want.push_back(ids_of(ended(tiny(), options(i), prompts[i])));
    interleaved.emplace_back(tiny(), prompts[i], options(i));
  }
  for (int step = 0; step < 25; ++step) {
    for (Generation& generation : interleaved) generation.next();
  }
  Ids got[kCount];
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kCount; ++i) {
      threads.emplace_back([&, i] { got[i] = ids_of(ended(tiny(), options(i), prompts[i])); });
    }
  }
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(ids_of(interleaved[static_cast<std::size_t>(i)]), want[static_cast<std::size_t>(i)]);
    EXPECT_EQ(got[i], want[static_cast<std::size_t>(i)]);
  }
}

TEST(Generation, TellsItsMemoryBefore) {
  const TransformerConfig& config = tiny().transformer.config();
  EXPECT_EQ(generation_bytes(config, {}),
            2 * 2 * 256 * 2 * 8 * 4);  // layers, kv heads, tokens, keys and values, D, fp32
  EXPECT_EQ(generation_bytes(config, {.context = 16}), 2 * 2 * 16 * 2 * 8 * 4);
  GenerationOptions halves{.context = 16};
  halves.cache = {.keys = DType::f16, .values = DType::bf16};
  EXPECT_EQ(generation_bytes(config, halves), 2 * 2 * 16 * 2 * 8 * 2);
  EXPECT_THROW(generation_bytes(config, {.context = 257}), BadArgument);
}

}  // namespace
}  // namespace sightline::model
