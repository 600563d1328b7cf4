// A generation that goes on from a state, against one that was never interrupted.
#include "src/generation/state.h"

#include <gtest/gtest.h>

#include "src/generation/decoding.h"
#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

constexpr std::int64_t kPrompt = 14, kSteps = 16;

// Everything that a step gives.
struct Step {
  std::int32_t token;
  double log_probability;
  StepSight sight;
};

bool same(const Step& a, const Step& b) {
  const StepSight &x = a.sight, &y = b.sight;
  return a.token == b.token && a.log_probability == b.log_probability && x.row == y.row && x.keys == y.keys &&
         x.segments == y.segments && x.top_key == y.top_key && bytes_of(x.entropy) == bytes_of(y.entropy) &&
         bytes_of(x.sink_weight) == bytes_of(y.sink_weight) && bytes_of(x.top_weight) == bytes_of(y.top_weight) &&
         bytes_of(x.segment_mass) == bytes_of(y.segment_mass) && bytes_of(x.key_mass) == bytes_of(y.key_mass);
}

Step step_of(Decoding& decoding) {
  Step step{};
  step.token = decoding.next();
  step.log_probability = decoding.log_probability();
  if (decoding.sight() != nullptr) step.sight = *decoding.sight();
  return step;
}

DecodingOptions all_observed(bool key_mass) {
  DecodingOptions options;
  options.room = 40;
  options.threads = 1;
  options.watch = WatchOptions{.top = 3, .key_mass = key_mass};
  options.log_probability = true;
  return options;
}

PromptTokens prompt_of(const Transformer& transformer) {
  PromptTokens prompt{random_text(transformer, kPrompt, 3).ids, std::vector<std::int32_t>(kPrompt, 0), 2};
  prompt.segments[5] = 1;
  prompt.segments[6] = -1;
  return prompt;
}

std::vector<Step> uninterrupted(const Transformer& transformer, const DecodingOptions& options) {
  Decoding decoding(transformer, prompt_of(transformer), options);
  std::vector<Step> steps;
  for (int i = 0; i < kSteps; ++i) steps.push_back(step_of(decoding));
  return steps;
}

// The same with the state given up after `cuts` tokens each, and gone on from with other pieces, pages and rooms.
void expect_resumed(const Transformer& transformer, DecodingOptions options, const std::vector<int>& cuts,
                    const std::vector<Step>& want) {
  std::optional<Decoding> decoding(std::in_place, transformer, prompt_of(transformer), options);
  std::size_t next = 0;
  for (int at = 0; at < kSteps; ++at) {
    if (next < cuts.size() && cuts[next] == at) {
      GenerationState state = decoding->take_state();
      const std::int64_t kept = state.kept();
      EXPECT_EQ(std::ssize(state.tokens()), kPrompt + at);
      EXPECT_EQ(kept, at == 0 ? 0 : kPrompt + at - 1);
      options.cache.page_size = next % 2 == 0 ? 16 : 0;
      options.room = 40 + 3 * static_cast<std::int64_t>(next % 3);
      options.piece = 5;
      PromptTokens prompt = state.prompt();
      decoding.emplace(transformer, std::move(prompt), options, std::move(state));
      EXPECT_EQ(decoding->resumed(), kept);
      ++next;
    }
    EXPECT_TRUE(same(step_of(*decoding), want[static_cast<std::size_t>(at)])) << "step " << at;
  }
}

class StateTest : public testing::TestWithParam<std::string> {
 protected:
  const Transformer transformer_ = Transformer::load(conformance("models") / GetParam());
};

// phi3's text crosses from the short factors of its rope to the long ones.
TEST_P(StateTest, ResumedIsUninterrupted) {
  for (const bool key_mass : {true, false}) {
    DecodingOptions options = all_observed(key_mass);
    options.sampling = {.temperature = 0.9, .top_k = 40, .repeat_penalty = 1.1, .seed = 5};
    const std::vector<Step> want = uninterrupted(transformer_, options);
    for (const std::vector<int>& cuts : {std::vector{0}, {1}, {7}, {15}, {2, 3, 11}}) {
      expect_resumed(transformer_, options, cuts, want);
      if (HasFailure()) FAIL() << "first cut " << cuts.front() << ", mass " << key_mass;
    }
  }
}

TEST_P(StateTest, ResumedInEveryCacheType) {
  for (const auto& [keys, values] : {std::pair(DType::f16, DType::f16), std::pair(DType::bf16, DType::f32),
                                     std::pair(DType::i8_row, DType::q4_1), std::pair(DType::q4_1, DType::q4_1)}) {
    DecodingOptions options = all_observed(true);
    options.cache = {.keys = keys, .values = values};
    expect_resumed(transformer_, options, {1, 6, 13}, uninterrupted(transformer_, options));
    if (HasFailure()) FAIL() << dtype_name(keys) << " and " << dtype_name(values);
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, StateTest, testing::ValuesIn(model_names("decoder")),
                         [](const auto& info) { return info.param; });

const Transformer& llama() {
  static const Transformer transformer = Transformer::load(conformance_model("llama"));
  return transformer;
}

std::vector<Step> steps_of(Decoding& decoding, int count) {
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i) steps.push_back(step_of(decoding));
  return steps;
}

void expect_same(const std::vector<Step>& got, const std::vector<Step>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same(got[i], want[i])) << "step " << i;
}

// A rope whose frequencies change with every token beyond its original length, before and after the cut.
TEST(State, WhereTheRopeFollowsTheLength) {
  EditableModel model(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/tiny-decoder");
  model.config["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 4.0}};
  model.config["max_position_embeddings"] = 16;
  const Transformer transformer = model.load();
  ASSERT_TRUE(transformer.config().ropes.front().follows_length());
  for (const bool key_mass : {true, false}) {
    const DecodingOptions options = all_observed(key_mass);
    expect_resumed(transformer, options, {0, 1, 2, 3, 4, 9}, uninterrupted(transformer, options));
  }
}

// What a chat does: the next prompt begins as the state does, and differs later.
TEST(State, KeepsWhatThePromptHasInCommon) {
  const PromptTokens first = prompt_of(llama());
  for (const std::int64_t common : {0, 1, 9, 13, 17}) {
    for (const bool key_mass : {false, true}) {
      const DecodingOptions options = all_observed(key_mass);
      Decoding before(llama(), first, options);
      steps_of(before, 5);
      GenerationState state = before.take_state();
      const std::int64_t kept = state.kept();
      PromptTokens next{{state.tokens().begin(), state.tokens().begin() + common}};
      for (int i = 0; i < 4; ++i) next.ids.push_back(i + 1);
      if (common < kept) next.ids[static_cast<std::size_t>(common)] = (state.tokens()[common] + 1) % 64;
      Decoding resumed(llama(), next, options, std::move(state));
      // Sums of mass cannot lose rows: where some would have to go, all run.
      EXPECT_EQ(resumed.resumed(), key_mass && common < kept ? 0 : std::min(common, kept)) << common;
      Decoding anew(llama(), next, options);
      expect_same(steps_of(resumed, 4), steps_of(anew, 4));
    }
  }
}

TEST(State, OfAPromptWithinTheStateRunsItsLastRowAgain) {
  const DecodingOptions options = all_observed(false);
  Decoding before(llama(), prompt_of(llama()), options);
  steps_of(before, 5);
  PromptTokens shorter = prompt_of(llama());
  shorter.ids.resize(9);
  shorter.segments.resize(9);
  Decoding resumed(llama(), shorter, options, before.take_state());
  EXPECT_EQ(resumed.resumed(), 8);
  Decoding anew(llama(), shorter, options);
  expect_same(steps_of(resumed, 4), steps_of(anew, 4));
}

TEST(State, WithoutSumsRunsAnewWhereMassIsWatched) {
  Decoding before(llama(), prompt_of(llama()), all_observed(false));
  steps_of(before, 5);
  GenerationState state = before.take_state();
  EXPECT_FALSE(state.has_key_mass());
  const PromptTokens prompt = state.prompt();
  Decoding resumed(llama(), prompt, all_observed(true), std::move(state));
  EXPECT_EQ(resumed.resumed(), 0);
  Decoding anew(llama(), prompt, all_observed(true));
  expect_same(steps_of(resumed, 3), steps_of(anew, 3));
}

struct StopAt : Progress {
  explicit StopAt(std::int64_t tokens) : tokens(tokens) {}
  bool advance(std::int64_t done, std::int64_t) override { return done < tokens; }
  std::int64_t tokens;
};

// A prompt that was broken off keeps what went through, with sums of just these rows.
TEST(State, OfABrokenOffPrompt) {
  for (const bool key_mass : {true, false}) {
    const std::vector<Step> want = uninterrupted(llama(), all_observed(key_mass));
    for (const std::int64_t tokens : {0, 4, 8, 12}) {
      StopAt stop(tokens);
      DecodingOptions options = all_observed(key_mass);
      options.piece = 4;
      options.progress = &stop;
      Decoding cancelled(llama(), prompt_of(llama()), options);
      EXPECT_THROW(cancelled.next(), Cancelled);
      GenerationState state = cancelled.take_state();
      EXPECT_EQ(state.kept(), tokens);
      EXPECT_EQ(state.has_key_mass(), key_mass);
      options.progress = nullptr;
      PromptTokens prompt = state.prompt();
      Decoding resumed(llama(), std::move(prompt), options, std::move(state));
      EXPECT_EQ(resumed.resumed(), tokens);
      expect_same(steps_of(resumed, kSteps), want);
    }
  }
}

TEST(State, OfAPromptThatWasOnlyRead) {
  const DecodingOptions options = all_observed(true);
  Decoding before(llama(), prompt_of(llama()), options);
  before.read_prompt();
  GenerationState state = before.take_state();
  EXPECT_EQ(state.kept(), kPrompt - 1);
  PromptTokens prompt = state.prompt();
  Decoding resumed(llama(), std::move(prompt), options, std::move(state));
  expect_same(steps_of(resumed, kSteps), uninterrupted(llama(), options));
}

// The state's seed goes on with its next number; another begins.
TEST(State, KeepsThePlaceOfItsSeed) {
  DecodingOptions options = all_observed(false);
  options.sampling = {.temperature = 1.5, .seed = 11};
  for (const std::uint64_t seed : {11, 12}) {
    Decoding before(llama(), prompt_of(llama()), options);
    steps_of(before, 6);
    GenerationState state = before.take_state();
    EXPECT_EQ(state.seed(), 11u);
    const PromptTokens prompt = state.prompt();
    DecodingOptions other = options;
    other.sampling.seed = seed;
    Decoding resumed(llama(), prompt, other, std::move(state));
    Decoding anew(llama(), prompt, other);
    const std::vector<Step> got = steps_of(resumed, 8), fresh = steps_of(anew, 8);
    EXPECT_EQ(seed == 12, std::ranges::equal(got, fresh, same));
  }
}

TEST(State, RefusesWhatCannotGoOn) {
  const auto state = [] {
    Decoding before(llama(), {{3, 1, 4}}, all_observed(false));
    before.next();
    return before.take_state();
  };
  const auto error = [&](const Transformer& transformer, DecodingOptions options, PromptTokens prompt) {
    return format::error_of<BadArgument>([&] { Decoding(transformer, std::move(prompt), options, state()); });
  };
  const Transformer other = Transformer::load(conformance_model("llama"));
  EXPECT_NE(error(other, all_observed(false), {{3, 1, 4}}).find("of another model"), std::string::npos);
  DecodingOptions f16 = all_observed(false);
  f16.cache.values = DType::f16;
  EXPECT_NE(error(llama(), f16, {{3, 1, 4}}).find("values as F32, and F32 and F16 were asked for"), std::string::npos);
  DecodingOptions small = all_observed(false);
  small.room = 3;
  EXPECT_NE(error(llama(), small, {{3, 1, 4, 1}}).find("the context holds 3"), std::string::npos);
  EXPECT_THROW(Decoding(llama(), {}, all_observed(false), state()), BadArgument);
}

// What is refused takes nothing: the state still goes on.
TEST(State, StaysWhatItWasWhereItIsRefused) {
  const std::vector<Step> want = uninterrupted(llama(), all_observed(true));
  Decoding before(llama(), prompt_of(llama()), all_observed(true));
  steps_of(before, 5);
  GenerationState state = before.take_state();
  const Transformer other = Transformer::load(conformance_model("llama"));
  const auto refused = [&](const Transformer& transformer, const auto& change) {
    DecodingOptions options = all_observed(true);
    PromptTokens prompt = state.prompt();
    change(options, prompt);
    EXPECT_THROW(Decoding(transformer, std::move(prompt), options, std::move(state)), BadArgument);
  };
  refused(other, [](auto&, auto&) {});
  refused(llama(), [](auto& options, auto&) { options.piece = 0; });
  refused(llama(), [](auto& options, auto&) { options.audit = true; });
  refused(llama(), [](auto& options, auto&) { options.watch->head = 64; });
  refused(llama(), [](auto& options, auto&) { options.sampling.temperature = -1; });
  refused(llama(), [](auto& options, auto&) { options.cache.keys = DType::f16; });
  refused(llama(), [](auto& options, auto&) { options.room = 3; });
  refused(llama(), [](auto& options, auto&) { options.room = 1 << 30; });
  refused(llama(), [](auto& options, auto&) { options.cache.page_size = -1; });
  refused(llama(), [](auto&, auto& prompt) { prompt.segments.pop_back(); });
  EXPECT_EQ(state.kept(), kPrompt + 4);
  EXPECT_TRUE(state.has_key_mass());
  EXPECT_GT(state.bytes(), 0);
  PromptTokens prompt = state.prompt();
  Decoding resumed(llama(), std::move(prompt), all_observed(true), std::move(state));
  EXPECT_EQ(resumed.resumed(), kPrompt + 4);
  expect_same(steps_of(resumed, kSteps - 5), {want.begin() + 5, want.end()});
}

// A row that went through without a token leaves one to go on with, too, and no sums that would count it twice.
TEST(State, OfARowThatGaveNoToken) {
  EditableModel edited(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/tiny-decoder");
  std::vector<std::byte> damaged(edited.tensors.at("model.norm.weight").bytes.size(), std::byte{0xff});  // NaN
  edited.tensors.at("model.norm.weight").bytes = damaged;
  for (const bool key_mass : {false, true}) {
    Decoding decoding(edited.load(), {{3, 1, 4}}, all_observed(key_mass));
    EXPECT_THROW(decoding.next(), BadFile);
    EXPECT_THROW(decoding.next(), Error);
    const GenerationState state = decoding.take_state();
    EXPECT_EQ(state.tokens().size(), 3u);
    EXPECT_EQ(state.kept(), 2);
    EXPECT_FALSE(state.has_key_mass());
  }
}

TEST(State, IsTakenOnce) {
  Decoding decoding(llama(), {{3, 1, 4}}, all_observed(false));
  decoding.next();
  EXPECT_GT(decoding.cache_bytes(), 0);
  const GenerationState state = decoding.take_state();
  EXPECT_EQ(decoding.tokens().size(), 4u);
  EXPECT_EQ(decoding.room(), 40);
  EXPECT_EQ(decoding.cache_bytes(), 0);
  EXPECT_EQ(decoding.drops(), nullptr);
  EXPECT_EQ(decoding.sight()->row, 2);
  EXPECT_FALSE(decoding.is_full());
  EXPECT_THROW(decoding.next(), BadArgument);
  EXPECT_THROW(decoding.read_prompt(), BadArgument);
  EXPECT_THROW(decoding.take_state(), BadArgument);
}

}  // namespace
}  // namespace sightline::model
