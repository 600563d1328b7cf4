// The reference on every feature, against values worked out by hand. Scores are all 0 where nothing else is said, so
// that a row's weights are 1 over the number of keys that it sees.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "src/attention/reference.h"
#include "src/attention/reference_scores.h"

namespace sightline {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One head, width 1, scale 1, queries and keys 0, values 0, 1, 2, ... Views point into it: not to be moved.
struct Flat {
  std::vector<float> q, k, v;
  AttentionProblem problem;

  Flat(std::int64_t queries, std::int64_t keys) : q(queries, 0), k(keys, 0) {
    for (std::int64_t j = 0; j < keys; ++j) v.push_back(static_cast<float>(j));
    problem.q = view(q);
    problem.k = view(k);
    problem.v = view(v);
    problem.scale = 1.0f;
  }
  Flat(const Flat&) = delete;

  static TensorView view(const std::vector<float>& values) {
    return dense_view(values.data(), {1, 1, static_cast<std::int64_t>(values.size()), 1});
  }
  // Which keys have weight, a digit a pair, rows apart by spaces.
  std::string seen() const {
    const auto result = reference::attention(problem);
    std::string text;
    for (std::size_t i = 0; i < result.weights.size(); ++i) {
      if (i > 0 && i % k.size() == 0) text += ' ';
      text += result.weights[i] > 0 ? '1' : '0';
    }
    return text;
  }
};

float ln(double x) { return static_cast<float>(std::log(x)); }

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << "element " << i;
}

TEST(ReferenceFeatures, PagesInAnyOrderAndShared) {
  Flat flat(1, 5);
  const std::vector<float> pool_v{7, 8, kNan, kNan, 1, 2};  // pages of two slots: 3 is not there
  const std::vector<float> pool_k(6, 0);
  const std::int32_t table[] = {2, 0, 2};  // keys 1, 2, 7, 8, 1
  flat.problem.k.data = pool_k.data();
  flat.problem.v.data = pool_v.data();
  flat.problem.k.strides = flat.problem.v.strides = {999, 2, 1, 1};
  flat.problem.pages = {table, 3, 2, 3, 2, 2};
  expect_near(reference::attention(flat.problem).out, {19 / 5.});
  const std::vector<SequenceSpan> spans{{3, 0, {}}};
  flat.problem.sequences = spans;
  expect_near(reference::attention(flat.problem).out, {10 / 3.});
}

TEST(ReferenceFeatures, PackedSequencesSeeThemselvesAlone) {
  Flat flat(4, 5);
  const std::vector<std::int32_t> q_begins{0, 1, 1, 3, 4}, k_begins{0, 2, 3, 5, 5};
  flat.problem.cu_seqlens_q = q_begins;
  flat.problem.cu_seqlens_k = k_begins;
  EXPECT_EQ(flat.seen(), "11000 00011 00011 00000");
  flat.problem.causal = true;
  EXPECT_EQ(flat.seen(), "11000 00010 00011 00000");
  const auto result = reference::attention(flat.problem);
  expect_near(result.position, {0.5, 0, 0.5, 0});  // in the sequence
  std::vector<std::int32_t> index(4);
  Observations see;
  see.top_k = 1;
  see.topk_index = index.data();
  EXPECT_EQ(reference::observe(flat.problem, result, see).topk_index, (std::vector<std::int64_t>{0, 0, 0, -1}));
}

TEST(ReferenceFeatures, RowsOfInt8) {
  Flat flat(1, 2);
  std::vector<std::byte> rows(2 * row_bytes(DType::i8_row, 2));
  const float scales[] = {0.5f, 2};
  const std::int8_t codes[2][2] = {{-128, 6}, {3, -1}};  // -64, 3; 6, -2
  for (int j = 0; j < 2; ++j) {
    std::memcpy(&rows[6 * j], &scales[j], 4);
    std::memcpy(&rows[6 * j + 4], codes[j], 2);
  }
  flat.problem.v = {rows.data(), DType::i8_row, {1, 1, 2, 2}, {12, 12, 6, 1}};
  expect_near(reference::attention(flat.problem).out, {-29, 0.5});
}

TEST(ReferenceFeatures, BlocksOfFourBits) {
  Flat flat(1, 1);
  std::vector<std::byte> row(row_bytes(DType::q4_1, 34));
  ASSERT_EQ(row.size(), 40u);
  const std::uint16_t halves[] = {0x3800, 0xC000, 0x4200, 0x3C00};  // 0.5, -2 and 3, 1
  std::memcpy(&row[0], &halves[0], 4);
  std::memcpy(&row[20], &halves[2], 4);
  row[4] = std::byte{0xF2};   // element 0: 2, element 16: 15
  row[19] = std::byte{0x71};  // element 15: 1, element 31: 7
  row[25] = std::byte{0xE4};  // element 33: 4; there is no element 49
  flat.problem.v = {row.data(), DType::q4_1, {1, 1, 1, 34}, {40, 40, 40, 1}};
  const auto out = reference::attention(flat.problem).out;
  ASSERT_EQ(out.size(), 34u);
  expect_near({out[0], out[15], out[16], out[31], out[33], out[1]}, {-1, -1.5, 5.5, 1.5, 13, -2});
}

TEST(ReferenceFeatures, BiasInHalfPrecision) {
  Flat flat(1, 3);
  const std::uint16_t halves[] = {0x0001, 0xBC00, 0xFC00};  // 2^-24, -1, -inf
  flat.problem.bias = {halves, DType::f16, {1, 1, 1, 3}, {0, 0, 0, 1}};
  const auto scores = reference::attention(flat.problem).scores;
  EXPECT_EQ(scores[0], 0x1p-24);
  EXPECT_EQ(scores[1], -1);
  EXPECT_EQ(scores[2], reference::kHidden);
}

TEST(ReferenceFeatures, RelativeBiasByHeadAndBucket) {
  const std::vector<float> q(4, 0), k(3, 0), table{0, 0, 1, 10, 2, 20, 3, 30};  // [4 buckets, 2 heads]
  AttentionProblem p;
  p.q = dense_view(q.data(), {1, 2, 2, 1});
  p.k = p.v = dense_view(k.data(), {1, 1, 3, 1});
  p.relative_bias = {table, 4, 3, true};  // 0: here; 1: before; 2: nowhere; 3: after
  p.alignment = Alignment::top_left;
  expect_near(reference::attention(p).scores, {0, 3, 3, 1, 0, 3, 0, 30, 30, 10, 0, 30});
}

TEST(ReferenceFeatures, BucketsOfT5) {
  const RelativeBias encoder{{}, 32, 128, true}, decoder{{}, 32, 128, false};
  const auto buckets = [](const RelativeBias& bias) {
    std::vector<std::int64_t> all;
    for (const int offset : {-200, -128, -127, -64, -20, -17, -16, -15, -8, -7, -1, 0, 1, 7, 8, 15, 16, 64, 127, 128})
      all.push_back(reference::bucket(bias, offset));
    return all;
  };
  EXPECT_EQ(buckets(encoder),
            (std::vector<std::int64_t>{15, 15, 15, 14, 10, 10, 10, 9, 8, 7, 1, 0, 17, 23, 24, 25, 26, 30, 31, 31}));
  EXPECT_EQ(buckets(decoder),
            (std::vector<std::int64_t>{31, 31, 31, 26, 17, 16, 16, 15, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(ReferenceFeatures, HeadScaleAfterTheMix) {
  Flat flat(1, 3);
  const std::vector<float> factors{-0.5f};
  flat.problem.head_scale = factors;
  const auto result = reference::attention(flat.problem);
  expect_near(result.out, {-0.5});
  expect_near(result.weights, {1 / 3., 1 / 3., 1 / 3.});
}

TEST(ReferenceFeatures, CutsTakeEdgesOut) {
  Flat flat(3, 4);
  const std::vector<std::int64_t> rows{0, 2}, keys{1, 3}, other_head{5};
  const std::vector<EdgeCut> cuts{
      {-1, {}, rows, keys}, {0, {}, {}, std::span(keys).first(1)}, {1, {}, {}, {}}, {-1, other_head, {}, {}}};
  flat.problem.cuts = cuts;
  EXPECT_EQ(flat.seen(), "1010 1011 1010");
}

TEST(ReferenceFeatures, BlocksInFullInPartAndNot) {
  Flat flat(66, 130);
  const std::vector<std::int64_t> begins{0, 2, 2};  // rows 64 and 65 see nothing
  const std::vector<BlockMask::Entry> entries{{0, 0}, {2, -1}};
  std::vector<std::uint64_t> bits(64, 0);
  bits[3] = std::uint64_t{1} << 63 | 1;
  flat.problem.block_mask = {1, 1, begins, entries, bits};
  const auto weights = reference::attention(flat.problem).weights;
  const auto row = [&](std::int64_t i) {
    std::vector<std::int64_t> seen;
    for (std::int64_t j = 0; j < 130; ++j) {
      if (weights[i * 130 + j] > 0) seen.push_back(j);
    }
    return seen;
  };
  EXPECT_EQ(row(0), (std::vector<std::int64_t>{128, 129}));
  EXPECT_EQ(row(3), (std::vector<std::int64_t>{0, 63, 128, 129}));
  EXPECT_EQ(row(64), (std::vector<std::int64_t>{}));
}

TEST(ReferenceFeatures, TreesSeeTheirAncestors) {
  Flat flat(4, 6);
  const std::vector<std::int32_t> parents{-1, 0, 0, 2};
  flat.problem.tree_parents = parents;
  EXPECT_EQ(flat.seen(), "111000 111100 111010 111011");
  const auto result = reference::attention(flat.problem);
  expect_near(result.position, {1, 1.5, 1.75, 2.4});  // nodes are counted one after the other where they are observed
  flat.problem.window_left = 1;
  EXPECT_EQ(flat.seen(), "011000 001100 001010 000011");
}

TEST(ReferenceFeatures, FunctionsOfTheCallers) {
  Flat flat(2, 3);
  const auto scores = score_function(
      [](float score, const ScorePair& pair) { return score + static_cast<float>(10 * pair.row + pair.key); });
  const auto mask = mask_function([](const ScorePair& pair) { return pair.key_position <= pair.row_position - 1; });
  flat.problem.score_function = &scores;
  flat.problem.mask_function = &mask;  // the rows stand at keys 1 and 2
  EXPECT_EQ(flat.seen(), "100 110");
  const auto result = reference::attention(flat.problem);
  expect_near({result.scores[0], result.scores[3], result.scores[4]}, {0, 10, 11});
}

TEST(ReferenceFeatures, DropoutLeavesTheWeightsAlone) {
  Flat flat(1, 4);
  const std::uint8_t keep[] = {1, 0, 0, 1};
  flat.problem.keep = {keep, DType::boolean, {1, 1, 1, 4}, {0, 0, 0, 1}};
  flat.problem.keep_scale = 2;
  const auto result = reference::attention(flat.problem);
  expect_near(result.out, {1.5});
  expect_near(result.weights, {0.25, 0.25, 0.25, 0.25});
}

TEST(ReferenceFeatures, WeightAndEntropyOfASink) {
  Flat flat(2, 2);
  const std::vector<float> sinks{ln(2)};
  const std::uint8_t mask[] = {1, 1, 0, 0};
  flat.problem.sinks = sinks;
  flat.problem.mask = {mask, DType::boolean, {1, 1, 2, 2}, {0, 0, 2, 1}};
  const auto result = reference::attention(flat.problem);
  expect_near(result.sink_weight, {0.5, 1});
  expect_near(result.entropy, {0.5 * std::log(4), 0});
  expect_near(result.entropy_with_sink, {0.5 * std::log(4) + 0.5 * std::log(2), 0});
}

TEST(ReferenceFeatures, MassThatFadesAndMeasuresOfLength) {
  Flat flat(3, 2);
  flat.problem.causal = true;
  flat.problem.alignment = Alignment::top_left;  // rows: 1, 0; then halves
  float unwritten = 0;
  Observations see;
  see.key_mass = see.segment_mass = &unwritten;
  see.mass_decay = 0.5f;
  const std::vector<std::int32_t> segments{0, 0};
  see.segment_of_key = segments;
  see.segments = 1;
  const auto result = reference::attention(flat.problem);
  const auto faded = reference::observe(flat.problem, result, see);
  expect_near(faded.key_mass, {0.25 + 0.25 + 0.5, 0.25 + 0.5});
  expect_near(faded.segment_mass, {1, 1, 1});
  const std::vector<float> values{3, 4, kNan, -6, 0, 8};
  flat.problem.v = dense_view(values.data(), {1, 1, 2, 2});
  flat.problem.v.strides[2] = 4;  // lengths 5 and 8
  see.measure = Measure::value_weight;
  see.top_k = 1;
  std::int32_t index = 0;
  see.topk_index = &index;
  const auto lengths = reference::observe(flat.problem, reference::attention(flat.problem), see);
  expect_near(lengths.segment_mass, {5, 6.5, 6.5});
  EXPECT_EQ(lengths.topk_index, (std::vector<std::int64_t>{0, 1, 1}));
  expect_near(lengths.topk_weight, {1, 0.5, 0.5});
}

TEST(ReferenceFeatures, PaddingBeforeTheSequence) {
  Flat flat(3, 3);
  const std::vector<SequenceSpan> spans{{-1, -1, {}}};
  flat.problem.sequences = spans;
  flat.problem.causal = true;
  EXPECT_EQ(flat.seen(), "000 010 011");
}

TEST(ReferenceFeatures, StagesBeforeTheSoftmax) {
  Flat flat(1, 3);
  flat.q = {2};
  flat.k = {1, -1, 3};
  const std::vector<float> slopes{1};
  const std::vector<SequenceSpan> spans{{2, 0, {}}};
  flat.problem.softcap = 1;
  flat.problem.alibi_slopes = slopes;
  flat.problem.causal = true;
  flat.problem.alignment = Alignment::top_left;
  flat.problem.sequences = spans;
  const double hidden = reference::kHidden;
  EXPECT_EQ(reference::scores(flat.problem, Stage::raw), (std::vector<double>{2, -2, hidden}));
  EXPECT_EQ(reference::scores(flat.problem, Stage::capped),
            (std::vector<double>{std::tanh(2.), std::tanh(-2.), hidden}));
  EXPECT_EQ(reference::scores(flat.problem, Stage::biased), (std::vector<double>{std::tanh(2.), hidden, hidden}));
}

}  // namespace
}  // namespace sightline
