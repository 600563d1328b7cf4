// Scores of texts: against the references' logits, decoding at the same place, and passes in other pieces.
#include "src/generation/scoring.h"

#include <gtest/gtest.h>

#include <map>

#include "sightline/error.h"
#include "src/generation/decoding.h"
#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

using format::SafetensorsFile;
using Ids = std::vector<std::int32_t>;
using Scores = std::map<std::int64_t, double>;

class ScoringTest : public testing::TestWithParam<std::string> {
 protected:
  const std::filesystem::path folder_ = conformance("models") / GetParam();
  const Transformer transformer_ = Transformer::load(folder_);
  const SafetensorsFile reference_ = SafetensorsFile::open(folder_ / "reference.safetensors");

  Scores scores_of(Scoring& scoring, const Ids& ids, std::int64_t first) const {
    Scores scores;
    scoring.score(ids, first, [&](std::int64_t place, const ops::Likelihood& likelihood) {
      EXPECT_TRUE(scores.empty() || place == scores.rbegin()->first + 1) << "ascending";
      scores[place] = likelihood.log_probability;
    });
    EXPECT_EQ(std::ssize(scores), std::ssize(ids) - first);
    return scores;
  }
  Scores scores_of(const Ids& ids, std::int64_t first, ScoringOptions options = {}) const {
    options.room = std::ssize(ids);
    Scoring scoring(transformer_, options);
    return scores_of(scoring, ids, first);
  }
};

// ln softmax of the reference's own logits, in long double. A logit that is off by e moves its logarithm by 2 e at
// most.
void expect_reference(const Scores& scores, const Ids& ids, const std::vector<float>& logits, std::size_t first_row,
                      std::int64_t vocabulary, double allowed) {
  for (const auto& [place, got] : scores) {
    const float* row =
        &logits[(first_row + static_cast<std::size_t>(place) - 1) * static_cast<std::size_t>(vocabulary)];
    long double total = 0;
    for (std::int64_t i = 0; i < vocabulary; ++i) total += std::exp(static_cast<long double>(row[i]));
    EXPECT_NEAR(got, static_cast<double>(row[ids[static_cast<std::size_t>(place)]] - std::log(total)), 2 * allowed)
        << "place " << place;
  }
}

TEST_P(ScoringTest, IsTheLogSoftmaxOfTheReferencesLogits) {
  const double relative = index_entry(GetParam()).at("tolerance").at("values_rel");
  int texts = 0;
  for (const std::string name : {"len7.", "batch."}) {
    const format::Tensor& logits = reference_.at(name + "logits");
    double most = 0;
    const std::vector<float> values = format::to_f32(logits);
    for (const float value : values) most = std::max(most, static_cast<double>(std::abs(value)));
    const std::vector<Text> all = texts_of(reference_, name);
    for (std::size_t t = 0; t < all.size(); ++t) {
      if (std::cmp_not_equal(all[t].ids.size(), logits.shape[1])) continue;  // of a padded one rows stand elsewhere
      ++texts;
      expect_reference(scores_of(all[t].ids, 1), all[t].ids, values, t * all[t].ids.size(), logits.shape[2],
                       relative * most);
    }
  }
  EXPECT_GE(texts, 2);
}

// What decoding says of its own tokens; and in pieces, on threads, from any first token on the same bits. Where a rope
// follows the length both say other things by definition.
TEST_P(ScoringTest, HasTheBitsOfDecoding) {
  if (std::ranges::any_of(transformer_.config().ropes, &Rope::follows_length)) GTEST_SKIP() << "follows the length";
  const Text prompt = text_of(reference_.at("len7.input_ids"));
  DecodingOptions options;
  options.room = 32;
  options.log_probability = true;
  Decoding decoding(transformer_, {prompt.ids}, options);
  Scores decoded;
  for (std::int64_t place = std::ssize(prompt.ids); place < 32; ++place) {
    decoding.next();
    decoded[place] = decoding.log_probability();
  }
  const Ids ids(decoding.tokens().begin(), decoding.tokens().end());
  const Scores whole = scores_of(ids, 1);
  for (const auto& [place, value] : decoded) EXPECT_EQ(value, whole.at(place)) << place;
  for (const std::int64_t first : {1, 5, 31}) {
    for (const std::int64_t piece : {1, 3, 512}) {
      for (const auto& [place, value] : scores_of(ids, first, {.threads = piece == 3 ? 2 : 1, .piece = piece})) {
        EXPECT_EQ(value, whole.at(place)) << first << " " << piece << " " << place;
      }
    }
  }
}

// A second text that begins as the first did has its own scores, bit for bit.
TEST_P(ScoringTest, WhatIsCommonStaysInTheContext) {
  const Text text = text_of(reference_.at("len7.input_ids"));
  Ids other = text.ids;
  other[4] = other[4] == 9 ? 8 : 9;
  other.push_back(11);
  Scoring scoring(transformer_, {.room = 8});
  for (const Ids& ids : {text.ids, other, text.ids, Ids(other.begin(), other.begin() + 3)}) {
    const std::int64_t first = std::min<std::int64_t>(3, std::ssize(ids) - 1);
    EXPECT_EQ(scores_of(scoring, ids, first), scores_of(ids, first));
  }
}

// Edges that are knocked out: the bits of a generation without them; and what ran with other edges is not used again.
TEST_P(ScoringTest, KnocksOutWhatAGenerationDoes) {
  if (std::ranges::any_of(transformer_.config().ropes, &Rope::follows_length)) GTEST_SKIP() << "follows the length";
  const std::vector<KnockOut> blocked = {{.layers = {0}, .rows = {{3}}, .keys = {{1, 3}}},
                                         {.rows = {{9}}, .keys = {{5, 7}}}};
  DecodingOptions options;
  options.room = 16;
  options.log_probability = true;
  options.knock_outs = blocked;
  Decoding decoding(transformer_, {text_of(reference_.at("len7.input_ids")).ids}, options);
  Scores decoded;
  for (std::int64_t place = 7; place < 16; ++place) {
    decoding.next();
    decoded[place] = decoding.log_probability();
  }
  const Ids ids(decoding.tokens().begin(), decoding.tokens().end());
  Scoring scoring(transformer_, {.room = 16, .piece = 5});
  const Scores plain = scores_of(scoring, ids, 7);
  EXPECT_NE(plain, decoded);
  for (int time = 0; time < 2; ++time) {
    scoring.knock_out(blocked);
    EXPECT_EQ(scores_of(scoring, ids, 7), decoded);
    scoring.knock_out({});
    EXPECT_EQ(scores_of(scoring, ids, 7), plain);
  }
}

TEST_P(ScoringTest, RefusesWhatItCannotScore) {
  const Ids ids = {1, 2, 3};
  Scoring scoring(transformer_, {.room = 3});
  EXPECT_THROW(scoring.score(ids, 0, {}), BadArgument);
  EXPECT_THROW(scoring.score(ids, 3, {}), BadArgument);
  EXPECT_THROW(scoring.score(Ids{1, 2, 3, 4}, 1, [](auto, const auto&) {}), BadArgument);
}

class Stops : public Progress {
 public:
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_EQ(total, 8);
    return done < 4;
  }
};

TEST_P(ScoringTest, KeepsWhatWasScoredWhenStopped) {
  const Ids ids = {1, 2, 3, 4, 5, 6, 7, 8};
  if (std::ranges::any_of(transformer_.config().ropes, &Rope::follows_length)) GTEST_SKIP() << "goes through at once";
  Stops stops;
  Scoring scoring(transformer_, {.room = 8, .piece = 2, .progress = &stops, .total = 8});
  Scores scores;
  const auto keep = [&](std::int64_t place, const ops::Likelihood& of) { scores[place] = of.log_probability; };
  EXPECT_THROW(scoring.score(ids, 1, keep), Cancelled);
  EXPECT_EQ(scores, scores_of({1, 2, 3, 4, 5}, 1));
}

INSTANTIATE_TEST_SUITE_P(Models, ScoringTest, testing::ValuesIn(model_names("decoder")),
                         [](const auto& info) { return info.param; });

TEST(Scoring, AnEncoderIsRefused) {
  const Transformer encoder = Transformer::load(conformance_model("bert"));
  EXPECT_THROW(Scoring(encoder, {.room = 8}), BadArgument);
}

}  // namespace
}  // namespace sightline::model
