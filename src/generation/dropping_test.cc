// Generations that let keys go: the text, what is seen of each row, and what an audit says.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sightline/error.h"
#include "src/generation/decoding.h"
#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

using format::error_of;

constexpr std::int64_t kPrompt = 20, kRoom = 48;

class DroppedDecodingTest : public testing::TestWithParam<std::string> {
 protected:
  const Transformer transformer_ = Transformer::load(conformance("models") / GetParam());

  PromptTokens prompt() const {
    PromptTokens prompt{random_text(transformer_, kPrompt, 7).ids};
    for (std::int32_t i = 0; i < kPrompt; ++i) prompt.segments.push_back(i % 3 - 1);
    prompt.segment_count = 2;
    return prompt;
  }
  DecodingOptions options(const char* rule) const {
    DecodingOptions options;
    options.room = kRoom;
    options.threads = 1;
    options.watch = WatchOptions{.top = 4, .key_mass = true, .row_weights = true};
    options.log_probability = true;
    if (rule != nullptr) options.cache.drop = parse_drop_rule(rule);
    return options;
  }
};

TEST_P(DroppedDecodingTest, IsTheFullOneWhereAllIsKept) {
  const DType types[][2] = {{DType::f32, DType::f32}, {DType::f16, DType::i8_row}, {DType::q4_1, DType::bf16}};
  for (int turn = 0; turn < 6; ++turn) {
    DecodingOptions plain = options(nullptr);
    plain.sampling = {.temperature = 1.5, .seed = 11};
    plain.cache.keys = types[turn / 2][0];
    plain.cache.values = types[turn / 2][1];
    plain.watch->key_mass = turn != 3;  // the weights of the row then come another way
    plain.watch->head = turn % 3 - 1;
    DecodingOptions audited = plain;
    audited.cache.drop = parse_drop_rule(turn % 2 == 0 ? "mass,keep=48" : "sinks+window,keep=48");
    audited.audit = true;
    audited.threads = 1 + turn % 3;
    audited.piece = 7;
    Decoding want(transformer_, prompt(), plain), got(transformer_, prompt(), audited);
    while (!want.is_full()) {
      ASSERT_EQ(want.next(), got.next());
      EXPECT_EQ(want.log_probability(), got.log_probability());
      const StepSight &a = *want.sight(), &b = *got.sight();
      EXPECT_EQ(a.row, b.row);
      EXPECT_EQ(a.keys, b.keys);
      EXPECT_EQ(a.entropy, b.entropy);
      EXPECT_EQ(a.sink_weight, b.sink_weight);
      EXPECT_EQ(a.top_key, b.top_key);
      EXPECT_EQ(a.top_weight, b.top_weight);
      ASSERT_EQ(a.key_mass.size(), b.key_mass.size());
      for (std::size_t i = 0; i < a.key_mass.size(); ++i) EXPECT_NEAR(a.key_mass[i], b.key_mass[i], 1e-4);
      ASSERT_EQ(a.row_weights.size(), b.row_weights.size());
      for (std::size_t i = 0; i < a.row_weights.size(); ++i) EXPECT_NEAR(a.row_weights[i], b.row_weights[i], 1e-6);
      ASSERT_EQ(a.segment_mass.size(), b.segment_mass.size());
      for (std::size_t i = 0; i < a.segment_mass.size(); ++i) EXPECT_NEAR(a.segment_mass[i], b.segment_mass[i], 1e-5);
    }
    EXPECT_FALSE(got.departure());
    for (const HeadDrops& head : got.drops()->heads) EXPECT_EQ(0, head.evicted);
  }
}

// Every weight of the newest row by position, written down beside what is under test.
class Weights : public AttentionObserver {
 public:
  Observations request(const LayerAttention& call) override {
    weights_.assign(call.problem.q.shape[1] * call.problem.k.shape[2], 0);
    Observations see;
    see.rows = row_;
    see.row_weights = weights_.data();
    return see;
  }
  void done(const LayerAttention& call) override {
    const std::int64_t heads = call.problem.q.shape[1], slots = call.problem.k.shape[2];
    const std::int64_t group = heads / call.problem.k.shape[1];
    for (std::int64_t head = 0; head < heads; ++head) {
      std::vector<float>& row = rows.emplace_back(kRoom);
      for (std::int64_t slot = 0; slot < slots; ++slot) {
        row[call.key_positions[head / group * slots + slot]] = weights_[head * slots + slot];
      }
    }
  }
  std::vector<std::vector<float>> rows;  // [layers * heads][positions]

 private:
  std::vector<float> weights_;
  std::vector<std::int64_t> row_ = {0};
};

// The tokens again by a context alone, whose weights say what the decoding's sights must have been.
TEST_P(DroppedDecodingTest, TellsOfPositions) {
  const DecodingOptions how = options("mass,keep=7,recent=2");
  Decoding decoding(transformer_, prompt(), how);
  decoding.next();
  Context context = transformer_.make_context(kRoom, how.cache);
  const TokenSequence text{decoding.prompt().ids, {}, &context};
  transformer_.forward({&text, 1}, {.threads = 1});
  context.begin_dropping();
  std::vector<float> mass = decoding.sight()->key_mass;
  while (!decoding.is_full()) {
    const std::vector<std::int32_t> id = {decoding.tokens().back()};
    Weights weights;
    const TokenSequence next{id, {}, &context};
    transformer_.forward({&next, 1}, {.threads = 1, .observer = &weights});
    decoding.next();
    const StepSight& sight = *decoding.sight();
    const std::int64_t maps = std::ssize(weights.rows);
    ASSERT_EQ(maps * sight.top, std::ssize(sight.top_key));
    ASSERT_EQ(maps * sight.keys, std::ssize(sight.key_mass));
    std::vector<float> summed;
    for (std::int64_t map = 0; map < maps; ++map) {
      std::vector<float> row = weights.rows[map];
      double segments[3] = {};
      for (std::int64_t p = 0; p < sight.keys; ++p) {
        const float before = p + 1 < sight.keys ? mass[map * (sight.keys - 1) + p] : 0;
        summed.push_back(before + row[p]);
        EXPECT_NEAR(summed.back(), sight.key_mass[map * sight.keys + p], 1e-4);
        const std::int64_t segment = p < kPrompt ? p % 3 - 1 : 2;
        if (segment >= 0) segments[segment] += static_cast<double>(row[p]);
      }
      for (int s = 0; s < 3; ++s) EXPECT_NEAR(segments[s], sight.segment_mass[map * 3 + s], 1e-6);
      for (int i = 0; i < sight.top; ++i) {
        const auto best = std::max_element(row.begin(), row.end());
        const std::int32_t key = sight.top_key[map * sight.top + i];
        if (*best == 0) break;
        EXPECT_EQ(best - row.begin(), key);
        EXPECT_EQ(*best, sight.top_weight[map * sight.top + i]);
        *best = 0;
      }
    }
    mass = summed;
  }
}

TEST_P(DroppedDecodingTest, SaysWhereItDeparts) {
  for (const double temperature : {0.0, 1.0}) {
    DecodingOptions plain = options(nullptr), dropped = options("window,keep=2");
    plain.sampling = dropped.sampling = {.temperature = temperature, .seed = 5};
    DecodingOptions unaudited = dropped;
    dropped.audit = true;
    dropped.piece = 3;
    Decoding want(transformer_, prompt(), plain), got(transformer_, prompt(), dropped),
        alone(transformer_, prompt(), unaudited);
    while (!want.is_full()) {
      want.next();
      EXPECT_EQ(got.next(), alone.next());
    }
    const auto [a, b] = std::ranges::mismatch(want.tokens(), got.tokens());
    if (a == want.tokens().end()) {
      EXPECT_FALSE(got.departure());
      continue;
    }
    ASSERT_TRUE(got.departure());
    EXPECT_EQ(a - want.tokens().begin() - kPrompt, got.departure()->index);
    EXPECT_GT(got.departure()->index, 0);  // the first token comes from all keys
    EXPECT_EQ(*a, got.departure()->full_id);
    EXPECT_EQ(*b, got.departure()->id);
    EXPECT_FALSE(alone.departure());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DroppedDecodingTest, testing::Values("llama", "gemma2", "gpt_oss"),
                         [](const auto& info) { return info.param; });

TEST(DroppedDecoding, RefusesAnAuditOfNothing) {
  const Transformer llama = Transformer::load(conformance("models") / "llama");
  DecodingOptions options;
  options.room = 8;
  options.audit = true;
  error_of<BadArgument>([&] { Decoding(llama, {{1, 2}}, options); });
}

}  // namespace
}  // namespace sightline::model
