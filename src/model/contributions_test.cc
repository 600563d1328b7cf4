// What parts of a model add to an answer: against terms carried forward through the norms in float64
// (tools/make_contributions.py), and against the answer that they add up to.

#include "src/model/contributions.h"

#include <gtest/gtest.h>

#include "sightline/error.h"
#include "src/model/bits_testing.h"
#include "src/model/frozen.h"

namespace sightline::model {
namespace {

using format::error_of;
using format::SafetensorsFile;

Answer answer_of(const SafetensorsFile& file, const std::string& prefix) {
  Answer answer;
  const std::vector<std::int64_t> rows = integers(file.at(prefix + "rows"));
  answer.rows = {rows[0], rows[1]};
  if (file.find(prefix + "direction") != nullptr) {
    answer.direction = format::to_f32(file.at(prefix + "direction"));
    return answer;
  }
  const std::vector<std::int64_t> tokens = integers(file.at(prefix + "tokens"));
  const std::vector<float> weights = format::to_f32(file.at(prefix + "weights"));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    answer.tokens.emplace_back(static_cast<std::int32_t>(tokens[i]), weights[i]);
  }
  answer.minus_mean = integers(file.at(prefix + "minus_mean"))[0] != 0;
  return answer;
}

void expect_terms(const SafetensorsFile& file, const std::string& prefix, const Contributions& got) {
  const auto expect = [&](const char* name, std::span<const double> values) {
    const std::vector<float> want = format::to_f32(file.at(prefix + name));
    ASSERT_EQ(want.size(), values.size()) << name;
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], values[i], 1e-5) << name << " " << i;
  };
  expect("answer", {&got.answer, 1});
  expect("heads", got.heads);
  expect("feed_forward", got.feed_forward);
  expect("embeddings", {&got.embeddings, 1});
  expect("rest", {&got.rest, 1});
}

TEST(Contributions, AgreeWithTermsCarriedForward) {
  const SafetensorsFile file =
      SafetensorsFile::open(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/contributions.safetensors");
  int cases = 0;
  for (const char* model : {"bert", "bert_mlm_legacy", "gpt2", "llama", "gemma2", "gpt_neox"}) {
    const Transformer transformer = Transformer::load(conformance_model(model));
    const Text text = text_of(file.at(std::string(model) + ".ids"));
    Branches passes(transformer, text.ids, {});
    for (const char* title : {"pair", "mean", "pooled", "row"}) {
      const std::string prefix = std::string(model) + "." + title + ".";
      if (file.find(prefix + "answer") == nullptr) continue;
      SCOPED_TRACE(prefix);
      ++cases;
      expect_terms(file, prefix, contributions(passes, answer_of(file, prefix)));
    }
  }
  EXPECT_EQ(12, cases);
}

// The sum that the pass itself came to, of tokens or of a direction. fp32's error grows with what cancels in the sum.
void expect_sum(const Transformer& transformer, const Text& text) {
  const TransformerConfig& config = transformer.config();
  const TokenSequence view = text.view();
  const ForwardResult whole = transformer.forward({&view, 1}, all_of(transformer));
  const std::int64_t rows = whole.row_begin.back(), row = rows - 1;
  Answer answer;
  double want = 0;
  if (config.language_head != LanguageHead::none) {
    answer.rows = {row, row + 1};
    answer.tokens = {{3, 1.0}, {4, -0.5}};
    const float* logits = whole.logits.data() + row * config.vocabulary;
    want = logits[3] - 0.5 * logits[4];
    if (config.logit_softcap > 0) {
      const auto uncapped = [&](float logit) {
        return config.logit_softcap * std::atanh(logit / config.logit_softcap);
      };
      want = uncapped(logits[3]) - 0.5 * uncapped(logits[4]);
    }
  } else {
    for (std::int64_t i = 0; i < config.width; ++i) answer.direction.push_back(static_cast<float>(std::sin(i)));
    for (std::int64_t i = 0; i < rows * config.width; ++i) {
      want += static_cast<double>(whole.last_hidden_state[i]) * answer.direction[i % config.width] /
              static_cast<double>(rows);
    }
  }
  Branches passes(transformer, text.ids, text.types, {.threads = 2});
  const Contributions got = contributions(passes, answer);
  double size = std::abs(got.embeddings) + std::abs(got.rest);
  for (const auto* terms : {&got.heads, &got.feed_forward}) {
    for (const double term : *terms) size += std::abs(term);
  }
  EXPECT_NEAR(want, got.answer, 1e-5 * (1 + std::abs(want)));
  EXPECT_NEAR(want, got.sum(), 1e-5 * (1 + size));
  EXPECT_GT(std::ranges::count_if(got.heads, [](double term) { return std::abs(term) > 1e-4; }), 1);
}

class ContributionsTest : public testing::TestWithParam<std::string> {};

// Rows of more than one piece.
TEST_P(ContributionsTest, AddUpToTheAnswer) {
  const Transformer transformer = Transformer::load(conformance("models") / GetParam());
  for (const std::int64_t tokens : {1, 70}) {
    SCOPED_TRACE(tokens);
    const std::int64_t length = std::min(tokens, transformer.config().max_positions);
    if (length == 1 && transformer.config().language_head == LanguageHead::none) continue;
    expect_sum(transformer, random_text(transformer, length, 3));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ContributionsTest, testing::ValuesIn(model_names()),
                         [](const auto& info) { return info.param; });

TEST(Contributions, OfQuantisedFilesAddUpToTheAnswer) {
  const std::filesystem::path folder = conformance("gguf");
  int files = 0;
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".gguf") || name.starts_with("vocab")) continue;  // those are tokenizers
      SCOPED_TRACE(name);
      const Transformer transformer = Transformer::load(entry.path());
      expect_sum(transformer, random_text(transformer, 20, 6));
      ++files;
    }
  }
  if (files == 0) GTEST_SKIP() << "no GGUF models in " << folder;
}

// A head that is taken out in the last layer: what is lost is its term, but for the change of the final norm's divisor.
TEST(Contributions, OfAHeadIsWhatTheLastLayerLosesWithoutIt) {
  const Transformer transformer = Transformer::load(conformance_model("gpt_neox"));
  ASSERT_TRUE(transformer.config().parallel_residual);  // so that its MLP does not see the head
  const Text text = random_text(transformer, 12, 3);
  const int layer = static_cast<int>(transformer.config().layers) - 1;
  Branches passes(transformer, text.ids, {});
  Answer answer{.rows = {11, 12}};
  for (std::int64_t i = 0; i < transformer.config().width; ++i) answer.direction.push_back(i == 5 ? 1.0f : 0.0f);
  const Contributions whole = contributions(passes, answer);
  const Branch without{{{.layers = {layer}, .heads = {2}}}};
  double lost = 0;
  passes.run({&without, 1}, [&](std::size_t, const BranchResult& result) {
    lost = static_cast<double>(passes.whole().hidden_state[11 * transformer.config().width + 5]) -
           static_cast<double>(result.hidden_state[(11 - result.first_row) * transformer.config().width + 5]);
  });
  const double term = whole.heads[static_cast<std::size_t>(layer * transformer.config().query_heads + 2)];
  EXPECT_NEAR(lost, term, 0.1 * std::abs(lost));
  EXPECT_GT(std::abs(term), 1e-3);
}

TEST(Contributions, OfWhatThereIsNotAreRefused) {
  const Transformer decoder = Transformer::load(conformance_model("llama")),
                    encoder = Transformer::load(conformance_model("bert"));
  const Text text = random_text(decoder, 10, 1);
  const auto error = [&](const Transformer& model, const Answer& answer) {
    Branches passes(model, text.ids, {});
    return error_of<BadArgument>([&] { contributions(passes, answer); });
  };
  EXPECT_EQ("an answer has tokens or a direction: this one has neither", error(decoder, {}));
  EXPECT_EQ("an answer names token 320, outside 0..319", error(decoder, {.tokens = {{320, 1.0}}}));
  EXPECT_EQ("an answer of rows 10..10: the text has rows 0..9, and it takes one at least",
            error(decoder, {.rows = {10, 11}, .tokens = {{1, 1.0}}}));
  EXPECT_EQ("a direction of 3 numbers, where the hidden state has 64", error(decoder, {.direction = {1, 2, 3}}));
  EXPECT_EQ("an answer has tokens or a direction, not both",
            error(decoder, {.tokens = {{1, 1.0}}, .direction = std::vector<float>(64)}));
  EXPECT_EQ("the model has no language-model head, so tokens have no logits: give a direction",
            error(encoder, {.tokens = {{1, 1.0}}}));
}

struct StopAtOnce : Progress {
  bool advance(std::int64_t, std::int64_t) override { return false; }
};

TEST(Contributions, StopWhenTheyAreTold) {
  const Transformer transformer = Transformer::load(conformance_model("llama"));
  const Text text = random_text(transformer, 10, 1);
  Branches passes(transformer, text.ids, {});
  StopAtOnce stop;
  EXPECT_THROW(contributions(passes, {.tokens = {{1, 1.0}}}, &stop), Cancelled);
}

// A matrix as it is stored, and the other way round.
TEST(Frozen, MatricesAreReadEitherWay) {
  const std::vector<float> stored = {1, 2, 3, 4, 5, 6};
  const std::vector<double> two = {10, 100}, three = {10, 100, 1000};
  ops::WeightMatrix matrix{std::as_bytes(std::span(stored)).data(), DType::f32, 2, 3};
  EXPECT_EQ((std::vector<double>{410, 520, 630}), through_matrix(matrix, two));
  matrix.rows = 3;
  matrix.cols = 2;
  matrix.transposed = true;
  EXPECT_EQ((std::vector<double>{3210, 6540}), through_matrix(matrix, three));
}

}  // namespace
}  // namespace sightline::model
