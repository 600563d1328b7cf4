// Maps as decoders have them - causal, windows, softcap, sinks, shared keys - against plain fp64 attention.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/attention/reference.h"
#include "src/engine/explain.h"
#include "src/engine/layer_testing.h"
#include "src/engine/page_layer.h"
#include "src/engine/report.h"

namespace sightline::engine {
namespace {

using testing::RandomLayer;

constexpr std::int64_t kTokens = 23, kHeads = 4, kKvHeads = 2, kWidth = 8;
constexpr float kSinks[kHeads] = {-1, 0.5F, 2, 40};

struct Kind {
  const char* name;
  bool causal = true;
  std::int64_t window = -1;
  float softcap = 0;
  bool sinks = false;
  bool bos = true;  // the first token is special
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

struct DecoderLayer : RandomLayer {
  explicit DecoderLayer(const Kind& kind) : RandomLayer(kHeads, kKvHeads, kTokens, kWidth) {
    problem.causal = kind.causal;
    problem.window_left = kind.window;
    problem.softcap = kind.softcap;
    if (kind.sinks) problem.sinks = kSinks;
    segments.back() = kSegmentText;
    if (!kind.bos) segments.front() = kSegmentFirst;
  }
};

class DecoderMaps : public ::testing::TestWithParam<Kind> {};

bool sees(const Kind& kind, std::int64_t i, std::int64_t j) {
  return (!kind.causal || j <= i) && (kind.window < 0 || i - j <= kind.window);
}

TEST_P(DecoderMaps, TilesHoldTheWeightsAndNothingOfHiddenKeys) {
  const DecoderLayer layer(GetParam());
  const Look look = layer.look();
  const reference::Result exact = reference::attention(layer.problem);
  for (int head = 1; head <= kHeads; ++head) {
    const auto tile = look.tile({1, head}, {0, 0, 0, kTokens, 0, kTokens}, Stage::weights);
    for (std::int64_t i = 0; i < kTokens; ++i) {
      const KeyRange visible = look.rule({1, head}).visible(i, kTokens);
      for (std::int64_t j = 0; j < kTokens; ++j) {
        const auto at = static_cast<std::size_t>(i * kTokens + j);
        EXPECT_NEAR(tile[at], exact.weights[static_cast<std::size_t>((head - 1) * kTokens * kTokens) + at], 1e-6);
        EXPECT_EQ(visible.has(j), sees(GetParam(), i, j)) << i << " " << j;
        if (!visible.has(j)) {
          EXPECT_EQ(tile[at], 0);
        }
      }
    }
  }
}

TEST_P(DecoderMaps, SummariesAreMeansOfWhatRowsSee) {
  const Kind kind = GetParam();
  const DecoderLayer layer(kind);
  const Look look = layer.look();
  const reference::Result exact = reference::attention(layer.problem);
  for (int head = 1; head <= kHeads; ++head) {
    double normalised = 0, first = 0, sink = 0, sharpness = 0;
    int choosing = 0, choosing_text = 0, rows = 0;
    for (std::int64_t i = 1; i < kTokens; ++i, ++rows) {
      const double* w = exact.weights.data() + ((head - 1) * kTokens + i) * kTokens;
      std::vector<double> text;
      double entropy = 0, text_sum = 0, all = 0;
      int seen = 0;
      for (std::int64_t j = 0; j < kTokens; ++j) {
        if (!sees(kind, i, j)) continue;
        ++seen;
        all += w[j];
        entropy -= w[j] > 0 ? w[j] * std::log(w[j]) : 0;
        if (j > 0) text.push_back(w[j]), text_sum += w[j];
      }
      double text_entropy = 0;
      for (const double x : text) text_entropy -= x > 0 ? x / text_sum * std::log(x / text_sum) : 0;
      first += w[0];
      sink += 1 - all;
      if (seen > 1) ++choosing, normalised += entropy / std::log(seen);
      if (text.size() > 1) {
        ++choosing_text;
        sharpness += text_sum * (1 - text_entropy / std::log(static_cast<double>(text.size())));
      }
    }
    const MapSummary& summary = look.summary({1, head});
    EXPECT_NEAR(summary.entropy_normalised, normalised / choosing, 1e-5);
    EXPECT_NEAR(kind.bos ? summary.special_share : summary.first_share, first / rows, 1e-5);
    EXPECT_EQ(kind.bos ? summary.first_share : summary.special_share, 0);
    EXPECT_NEAR(summary.sink_share, sink / rows, 1e-5);
    EXPECT_NEAR(summary.sharpness, sharpness / choosing_text, 2e-5);
    if (kind.causal) {
      EXPECT_EQ(summary.next_share, 0);
    }
  }
}

TEST_P(DecoderMaps, ExplanationsTakeTheSameSteps) {
  const Kind kind = GetParam();
  const DecoderLayer layer(kind);
  const Look look = layer.look();
  const std::vector<double> raw = reference::scores(layer.problem, Stage::raw);
  for (const std::int64_t token : {std::int64_t{0}, std::int64_t{9}, kTokens - 1}) {
    for (int head = 1; head <= kHeads; ++head) {
      const Explanation row = explain(look, token, {1, head}, true);
      EXPECT_EQ(row.softcap, kind.softcap);
      EXPECT_LT(row.weight_difference, 1e-6);
      double sum = row.sink ? row.sink->weight : 0;
      for (std::int64_t j = 0; j < kTokens; ++j) {
        const ExplainedKey& key = row.keys[static_cast<std::size_t>(j)];
        const double scaled = raw[static_cast<std::size_t>(((head - 1) * kTokens + token) * kTokens + j)];
        EXPECT_NEAR(key.scaled, scaled, 1e-5);
        ASSERT_EQ(row.visible.has(j), sees(kind, token, j));
        sum += key.weight;
        if (!row.visible.has(j)) {
          EXPECT_EQ(key.weight, 0);
        } else {
          EXPECT_NEAR(key.score, kind.softcap > 0 ? kind.softcap * std::tanh(scaled / kind.softcap) : scaled, 1e-5);
        }
      }
      EXPECT_NEAR(sum, 1, 1e-12);
      ASSERT_EQ(row.sink.has_value(), kind.sinks);
      if (row.sink) {
        EXPECT_EQ(row.sink->logit, kSinks[head - 1]);
      }
    }
  }
}

TEST_P(DecoderMaps, ReportsSayWhatIsHiddenAndWhatSinksTake) {
  const Kind kind = GetParam();
  const DecoderLayer layer(kind);
  const Look look = layer.look();
  const Explanation row = explain(look, 9, {1, 3}, true);
  const ReportJson report = build_report(look, {}, {&row, 1});
  const ReportJson& map = report["maps"][2];
  EXPECT_EQ(map["score"]["causal"], kind.causal);
  EXPECT_EQ(map["score"]["window_left"], kind.window);
  EXPECT_EQ(map["score"].contains("sink"), kind.sinks);
  EXPECT_EQ(map["row"].contains("sink_weight"), kind.sinks);
  if (kind.sinks) {
    for (std::size_t i = 0; i < kTokens; ++i) {
      double sum = map["row"]["sink_weight"][i].get<double>();
      for (const auto& mass : map["row"]["segment_mass"][i]) sum += mass.get<double>();
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  const ReportJson& steps = report["explanations"][0];
  ASSERT_EQ(steps["keys"].size(), kTokens);
  for (std::int64_t j = 0; j < kTokens; ++j) {
    EXPECT_EQ(steps["keys"][static_cast<std::size_t>(j)]["score"].is_null(), !sees(kind, 9, j));
  }
  EXPECT_TRUE(report["notes"].empty()) << report["notes"];
}

TEST_P(DecoderMaps, PagesCarryTheirSinks) {
  const DecoderLayer layer(GetParam());
  const Look look = layer.look();
  const PageLayer page = page_layer(look, 1, {2, 4}, {});
  EXPECT_LE(page.within, kPageWithin);
  EXPECT_EQ(page.facts["score"].contains("sinks"), GetParam().sinks);
  if (GetParam().sinks) {
    EXPECT_EQ(page.facts["score"]["sinks"], ReportJson({0.5, 40.0}));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, DecoderMaps,
                         ::testing::Values(Kind{"causal"}, Kind{"without_bos", true, -1, 0, false, false},
                                           Kind{"window", true, 4}, Kind{"softcap", true, -1, 1.5F},
                                           Kind{"sinks", true, -1, 0, true},
                                           Kind{"window_of_sinks", true, 1, 0, true, false},
                                           Kind{"all", true, 6, 2, true}, Kind{"sinks_both_ways", false, -1, 0, true}),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(DecoderMaps, OtherMasksAreRefusedByName) {
  RandomLayer layer(2, 2, 5, 4);
  const std::vector<float> slopes = alibi_slopes(2);
  layer.problem.alibi_slopes = slopes;
  try {
    require_storable(layer.problem);
    FAIL();
  } catch (const UnsupportedModel& error) {
    EXPECT_NE(std::string(error.what()).find("ALiBi"), std::string::npos) << error.what();
  }
}

LookToken token(bool special) {
  LookToken made;
  made.special = special;
  return made;
}

TEST(Segments, SetTheFirstTokenAsideWhereNoSpecialOneStandsBeforeIt) {
  const std::vector<LookToken> plain = {token(false), token(false)}, begun = {token(true), token(false)};
  EXPECT_EQ(segments_of(plain, true).of_token, (std::vector<std::int32_t>{kSegmentFirst, kSegmentText}));
  EXPECT_EQ(segments_of(plain, false).of_token, (std::vector<std::int32_t>{kSegmentText, kSegmentText}));
  EXPECT_EQ(segments_of(begun, true).of_token, (std::vector<std::int32_t>{kSegmentSpecial, kSegmentText}));
  EXPECT_EQ(segments_of(std::vector<LookToken>{token(false)}, true).of_token,
            (std::vector<std::int32_t>{kSegmentText}));
}

}  // namespace
}  // namespace sightline::engine
