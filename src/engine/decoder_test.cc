// Decoders from their files to looks: what the tests of maps do not see.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/engine/explain.h"
#include "src/engine/look_data.h"
#include "src/engine/look_memory.h"
#include "src/engine/report.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

struct Model {
  const char* name;
  bool bos;
};

std::ostream& operator<<(std::ostream& out, const Model& model) { return out << model.name; }

class Decoders : public ::testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    directory_ = testing::temporary_path(std::string("decoder-") + GetParam().name);
    std::filesystem::remove_all(directory_);
    testing::write_decoder(directory_, GetParam().name, GetParam().bos);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
};

TEST_P(Decoders, LookAtWhatCameBefore) {
  const Session session = Session::open(directory_);
  const Look look = session.look(testing::kTired);
  ASSERT_TRUE(look.model().config.causal);
  EXPECT_EQ(look.sets_first_aside(), !GetParam().bos);
  EXPECT_EQ(look.tokens().front().special, GetParam().bos);
  const auto tokens = static_cast<std::int64_t>(look.tokens().size());
  for (const MapId& id : look.maps()) {
    const auto weights = look.tile(id, {0, 0, 0, tokens, 0, tokens}, Stage::weights);
    const MapObservations seen = look.observations(id);
    const std::int64_t window = look.model().config.pattern[static_cast<std::size_t>(id.layer - 1)].window;
    for (std::int64_t i = 0; i < tokens; ++i) {
      double sum = seen.sink_weight.empty() ? 0 : seen.sink_weight[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < tokens; ++j) {
        const float weight = weights[static_cast<std::size_t>(i * tokens + j)];
        const bool hidden = j > i || (window > 0 && i - j >= window);
        EXPECT_EQ(look.rule(id).visible(i, tokens).has(j), !hidden);
        if (hidden) {
          EXPECT_EQ(weight, 0);
        }
        sum += weight;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
    const Explanation row = explain(look, tokens - 1, id, true);
    EXPECT_LT(row.weight_difference, 1e-6);
    EXPECT_EQ(row.sink.has_value(), look.model().config.sinks);
  }
}

// A text's later words change nothing of its earlier rows.
TEST_P(Decoders, EarlierRowsStayAsTheyWere) {
  const Session session = Session::open(directory_);
  const Look whole = session.look(testing::kTired), part = session.look("The animal didn't");
  for (const MapId& id : part.maps()) {
    const MapObservations a = whole.observations(id), b = part.observations(id);
    for (std::size_t i = 0; i < part.tokens().size(); ++i) EXPECT_EQ(a.lse[i], b.lse[i]) << map_name(id) << " " << i;
  }
}

TEST_P(Decoders, SayWhatTheirLooksTake) {
  const Session session = Session::open(directory_);
  const Look look = session.look(testing::kTired);
  const auto announced =
      static_cast<double>(look_bytes(session.model(), static_cast<std::int64_t>(look.tokens().size())));
  EXPECT_NEAR(static_cast<double>(look.bytes()), announced, 0.05 * announced + 2e4);
}

INSTANTIATE_TEST_SUITE_P(Families, Decoders,
                         ::testing::Values(Model{"gpt2", false}, Model{"llama", true}, Model{"mistral", true},
                                           Model{"gemma2", true}, Model{"qwen3", false}, Model{"gpt_oss", false}),
                         [](const auto& model) { return std::string(model.param.name); });

TEST(Decoder, KeepsTextsToTheLimitThatWasAskedFor) {
  const std::filesystem::path directory = testing::temporary_path("decoder-limit");
  std::filesystem::remove_all(directory);
  testing::write_decoder(directory, "llama", true);
  EXPECT_THROW(Session::open(directory, {.max_tokens = 10}).look(testing::kTired), BadArgument);
  EXPECT_EQ(Session::open(directory, {.max_tokens = 10}).look(testing::kTired, {.truncate = true}).tokens().size(),
            10u);
  EXPECT_THROW(Session::open(directory, {.max_tokens = 1000}), BadArgument);
  EXPECT_THROW(Session::open(directory, {.pretokenizer = "gpt-2"}), BadArgument);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace sightline::engine
