// Values that are known without a computation. Random problems against the fp64 reference are in tests/attention.

#include "sightline/attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sightline/backward.h"
#include "sightline/error.h"
#include "src/cpu/target.h"
#include "src/tensor/half.h"

namespace sightline {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One head of n queries and keys of width 4, with everything observed.
struct Head {
  std::int64_t n;
  std::vector<float> q, k, v, out;
  std::vector<float> row_max, row_sum, lse, entropy, position, distance, topk_weight, offset_mass, key_mass,
      segment_mass, overview;
  std::vector<std::int32_t> topk_index, segment_of_key;
  std::vector<std::int64_t> offsets = {-1, 0, 1};
  AttentionProblem problem;
  Observations see;

  explicit Head(std::int64_t size) : n(size), q(n * 4), k(n * 4), v(n * 4), out(n * 4) {
    for (auto* array : {&row_max, &row_sum, &lse, &entropy, &position, &distance, &key_mass}) array->resize(n);
    topk_weight.resize(n * 4), topk_index.resize(n * 4), offset_mass.resize(n * 3), segment_mass.resize(n * 2),
        overview.resize(4);
    segment_of_key.assign(n, 1), segment_of_key[0] = 0;
    problem.q = dense_view(q.data(), {1, 1, n, 4});
    problem.k = dense_view(k.data(), {1, 1, n, 4});
    problem.v = dense_view(v.data(), {1, 1, n, 4});
    see = {.row_max = row_max.data(),
           .row_sum = row_sum.data(),
           .lse = lse.data(),
           .entropy = entropy.data(),
           .position = position.data(),
           .distance = distance.data(),
           .top_k = 4,
           .topk_index = topk_index.data(),
           .topk_weight = topk_weight.data(),
           .offsets = offsets,
           .offset_mass = offset_mass.data(),
           .key_mass = key_mass.data(),
           .segment_of_key = segment_of_key,
           .segments = 2,
           .segment_mass = segment_mass.data(),
           .overview_rows = 2,
           .overview_cols = 2,
           .overview = overview.data()};
  }
  void run() { attention(problem, dense_view(out.data(), {1, 1, n, 4}), see); }
};

class AttentionTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::force_target(GetParam()); }
  void TearDown() override { cpu::force_target(""); }
};

INSTANTIATE_TEST_SUITE_P(EveryTarget, AttentionTest, testing::ValuesIn(cpu::available_targets()),
                         [](const auto& info) { return info.param; });

TEST_P(AttentionTest, EqualScoresLookEvenly) {
  Head head(8);
  for (int j = 0; j < 8; ++j) head.v[j * 4] = static_cast<float>(j);
  head.run();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(head.out[i * 4], 3.5f);
    EXPECT_EQ(head.row_max[i], 0.0f);
    EXPECT_EQ(head.row_sum[i], 8.0f);
    EXPECT_NEAR(head.lse[i], std::log(8.0), 1e-6);
    EXPECT_NEAR(head.entropy[i], std::log(8.0), 1e-6);
    EXPECT_EQ(head.position[i], 3.5f);
    EXPECT_EQ(head.key_mass[i], 1.0f);
    EXPECT_EQ(head.segment_mass[i * 2], 0.125f);
    EXPECT_EQ(head.segment_mass[i * 2 + 1], 0.875f);
    EXPECT_EQ(head.offset_mass[i * 3], i == 0 ? 0.0f : 0.125f);
    EXPECT_EQ(head.offset_mass[i * 3 + 1], 0.125f);
    EXPECT_EQ(head.offset_mass[i * 3 + 2], i == 7 ? 0.0f : 0.125f);
    for (int r = 0; r < 4; ++r) EXPECT_EQ(head.topk_index[i * 4 + r], r) << "ties go to the lower key";
  }
  EXPECT_EQ(head.distance[0], 3.5f);
  EXPECT_EQ(head.distance[3], 2.0f);
  for (const float cell : head.overview) EXPECT_EQ(cell, 0.5f);
}

TEST_P(AttentionTest, CausalRowsSeeTheirPast) {
  Head head(100);
  head.problem.causal = true;
  head.run();
  for (int i = 0; i < 100; ++i) {
    EXPECT_NEAR(head.entropy[i], std::log(i + 1.0), 2e-6);
    EXPECT_NEAR(head.position[i], i / 2.0, 1e-5);
    EXPECT_NEAR(head.distance[i], i / 2.0, 1e-5);
    EXPECT_EQ(head.offset_mass[i * 3 + 2], 0.0f);
    EXPECT_EQ(head.topk_index[i * 4 + 3], i >= 3 ? 3 : -1);
  }
  EXPECT_EQ(head.overview[1], 0.0f);
  EXPECT_EQ(head.overview[0], 1.0f);
}

TEST_P(AttentionTest, RowsWithoutAKeyAreZero) {
  Head head(3);
  const std::uint8_t mask[] = {1, 1, 1, 0, 0, 0, 1, 1, 1};
  head.problem.mask = {mask, DType::boolean, {1, 1, 3, 3}, dense_strides({1, 1, 3, 3})};
  head.v.assign(12, 5.0f);
  head.run();
  EXPECT_EQ(head.out[4], 0.0f);
  EXPECT_EQ(head.row_max[1], -INFINITY);
  EXPECT_EQ(head.lse[1], -INFINITY);
  EXPECT_EQ(head.row_sum[1], 0.0f);
  EXPECT_EQ(head.entropy[1], 0.0f);
  EXPECT_EQ(head.position[1], 0.0f);
  EXPECT_EQ(head.topk_index[4], -1);
  EXPECT_EQ(head.topk_weight[4], 0.0f);
  EXPECT_NEAR(head.key_mass[0], 2.0 / 3, 1e-6);
  EXPECT_EQ(head.out[0], 5.0f);
}

TEST_P(AttentionTest, VisibleNaNSpoilsItsRowsAndSumsOnly) {
  Head head(100);
  head.problem.causal = true;
  head.k[60 * 4] = kNaN;  // seen by rows 60..99
  head.q.assign(400, 0.25f);
  head.run();
  for (int i = 0; i < 100; ++i) {
    for (const float value :
         {head.out[i * 4], head.row_max[i], head.row_sum[i], head.lse[i], head.entropy[i], head.position[i],
          head.distance[i], head.offset_mass[i * 3 + 1], head.segment_mass[i * 2 + 1]}) {
      EXPECT_EQ(std::isnan(value), i >= 60) << "row " << i;
    }
  }
  for (int j = 0; j < 100; ++j) EXPECT_TRUE(std::isnan(head.key_mass[j])) << "every key is seen by row 99";
  EXPECT_FALSE(std::isnan(head.overview[0]));
  EXPECT_EQ(head.overview[1], 0.0f);
  EXPECT_TRUE(std::isnan(head.overview[3]));
}

TEST_P(AttentionTest, MassOfKeysThatNoSpoiledRowSawStays) {
  Head head(100);
  head.problem.causal = true;
  head.q[10 * 4] = kNaN;
  head.run();
  for (int j = 0; j < 100; ++j) EXPECT_EQ(std::isnan(head.key_mass[j]), j <= 10) << "key " << j;
  EXPECT_FALSE(std::isnan(head.out[9 * 4]));
  EXPECT_TRUE(std::isnan(head.out[10 * 4]));
  EXPECT_FALSE(std::isnan(head.out[11 * 4]));
}

TEST_P(AttentionTest, SegmentsThatASpoiledRowDidNotSeeStay) {
  for (const float poison : {kNaN, INFINITY}) {
    Head head(100);
    head.problem.causal = true;
    for (int j = 0; j < 100; ++j) head.segment_of_key[j] = j < 50 ? 1 : 0;
    for (int j = 0; j <= 10; ++j) head.k[j * 4] = 1.0f;
    head.q[10 * 4] = poison;
    head.run();
    EXPECT_TRUE(std::isnan(head.segment_mass[10 * 2 + 1]));
    EXPECT_EQ(head.segment_mass[10 * 2], 0.0f);
    EXPECT_EQ(head.overview[1], 0.0f);
    EXPECT_NEAR(head.segment_mass[11 * 2 + 1], 1.0, 1e-6);
  }
}

TEST_P(AttentionTest, InfiniteScores) {
  Head head(70);
  head.q.assign(280, 1.0f);
  head.k[0] = INFINITY;
  head.run();
  EXPECT_TRUE(std::isnan(head.out[0]));
  head.k[0] = -INFINITY;
  head.run();
  EXPECT_EQ(head.row_sum[0], 69.0f);
  EXPECT_EQ(head.key_mass[0], 0.0f);
}

TEST_P(AttentionTest, HiddenNaNNeverLeaks) {
  for (const float poison : {kNaN, INFINITY, -INFINITY}) {
    Head head(100);
    std::vector<std::uint8_t> mask(100, 1);
    for (const int j : {0, 50, 63, 64, 99}) {
      mask[j] = 0;
      for (int t = 0; t < 4; ++t) head.k[j * 4 + t] = head.v[j * 4 + t] = poison;
    }
    head.problem.mask = {mask.data(), DType::boolean, {1, 1, 1, 100}, dense_strides({1, 1, 1, 100})};
    head.run();
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(head.out[i * 4], 0.0f);
      EXPECT_NEAR(head.entropy[i], std::log(95.0), 1e-5);
    }
    EXPECT_EQ(head.key_mass[50], 0.0f);
    EXPECT_NEAR(head.key_mass[51], 100.0 / 95, 1e-5);
  }
}

TEST_P(AttentionTest, ValueNaNReachesTheRowsThatSeeIt) {
  Head head(100);
  head.problem.causal = true;
  head.v[70 * 4] = kNaN;
  head.run();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(std::isnan(head.out[i * 4]), i >= 70);
    EXPECT_EQ(head.out[i * 4 + 1], 0.0f);
  }
}

TEST_P(AttentionTest, LowestFiniteBiasIsANumber) {
  Head head(3);
  const float lowest = -FLT_MAX;
  const std::vector<float> bias = {lowest, lowest, lowest, lowest, 0, lowest, 0, 0, -INFINITY};
  head.problem.bias = {bias.data(), DType::f32, {1, 1, 3, 3}, dense_strides({1, 1, 3, 3})};
  head.v = {3, 0, 0, 0, 6, 0, 0, 0, 9, 0, 0, 0};
  head.run();
  EXPECT_EQ(head.out[0], 6.0f);
  EXPECT_EQ(head.out[4], 6.0f);
  EXPECT_EQ(head.out[8], 4.5f);
  EXPECT_NEAR(head.entropy[0], std::log(3.0), 1e-6);
}

// A bias of [n, n] in memory of any type and strides: numbers that all types hold, and every seventh one hides.
struct BiasInMemory {
  std::vector<std::uint32_t> memory;
  TensorView view;

  static float value(std::int64_t element) {
    return element % 7 == 3 ? -INFINITY : static_cast<float>(element % 29 - 14) / 8;
  }
  BiasInMemory(DType dtype, std::int64_t n, std::int64_t row_stride, std::int64_t column_stride)
      : memory(2 * (n + 1) * n + 1),
        view{memory.data(),
             dtype,
             {1, 1, row_stride == 0 ? 1 : n, column_stride == 0 ? 1 : n},
             {0, 0, row_stride, column_stride}} {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const float number = value(static_cast<std::int64_t>(i));
      if (dtype == DType::f32) memory[i] = std::bit_cast<std::uint32_t>(number);
      if (dtype == DType::f32) continue;
      const std::uint16_t half = dtype == DType::f16 ? f32_to_f16(number) : f32_to_bf16(number);
      std::memcpy(reinterpret_cast<std::byte*>(memory.data()) + 2 * i, &half, sizeof half);
    }
  }
};

// The same sum and the same keys hidden, through functions.
TEST_P(AttentionTest, ABiasIsAddedWhateverItsTypeAndStrides) {
  for (const std::int64_t n : {3, 100, 150}) {
    const std::array<std::int64_t, 2> strides[] = {{n, 1}, {n + 1, 1}, {2 * n, 2}, {1, n}, {0, 1}, {1, 0}, {0, 0}};
    for (const auto& [row_stride, column_stride] : strides) {
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const BiasInMemory bias(dtype, n, row_stride, column_stride);
        const auto at = [rows = row_stride, columns = column_stride](const ScorePair& pair) {
          return BiasInMemory::value(pair.row * rows + pair.key * columns);
        };
        const auto add = score_function([at](float score, const ScorePair& pair) {
          const float number = at(pair);
          return number == -INFINITY ? score : score + number;
        });
        const auto hide = mask_function([at](const ScorePair& pair) { return at(pair) != -INFINITY; });
        Head biased(n), expected(n);
        for (std::int64_t i = 0; i < 4 * n; ++i) {
          biased.q[i] = biased.k[i] = biased.v[i] = static_cast<float>(i * i % 23) / 16 - 0.7f;
        }
        expected.q = expected.k = expected.v = biased.q;
        const SequenceSpan span{.key_position = 5};  // the first block begins before the keys
        for (Head* head : {&biased, &expected}) head->problem.sequences = {&span, 1};
        biased.problem.bias = bias.view;
        expected.problem.score_function = &add;
        expected.problem.mask_function = &hide;
        biased.run();
        expected.run();
        EXPECT_EQ(biased.out, expected.out) << n << " " << row_stride << " " << column_stride << dtype_name(dtype);
        EXPECT_EQ(biased.row_max, expected.row_max);
        EXPECT_EQ(biased.topk_index, expected.topk_index);
      }
    }
  }
}

TEST_P(AttentionTest, MassCountsTheChosenRows) {
  Head head(50);
  head.see.mass_row_begin = 10;
  head.see.mass_row_end = 35;
  head.run();
  for (const float mass : head.key_mass) EXPECT_NEAR(mass, 0.5, 1e-6);
}

TEST_P(AttentionTest, EmptySizes) {
  const float* none = nullptr;
  AttentionProblem problem;
  problem.q = dense_view(none, {1, 2, 0, 4});
  std::vector<float> keys(2 * 3 * 4), mass(6, 7.0f), out(8, 7.0f), lse(2, 7.0f);
  problem.k = problem.v = dense_view(keys.data(), {1, 2, 3, 4});
  attention(problem, {}, {.key_mass = mass.data()});
  EXPECT_EQ(mass, std::vector<float>(6, 0.0f));
  problem.q = dense_view(keys.data(), {1, 2, 1, 4});
  problem.k = problem.v = dense_view(none, {1, 2, 0, 4});
  attention(problem, dense_view(out.data(), {1, 2, 1, 4}), {.lse = lse.data()});
  EXPECT_EQ(out, std::vector<float>(8, 0.0f));
  EXPECT_EQ(lse, std::vector<float>(2, -INFINITY));
}

TEST_P(AttentionTest, TilesNeedTheirState) {
  Head head(10);
  head.run();
  std::vector<float> block(4, 7.0f);
  const TileRange range{0, 0, 2, 4, 8, 10};
  EXPECT_THROW(tile(head.problem, {}, range, Stage::weights, block.data()), BadArgument);
  tile(head.problem, {head.row_max.data(), head.row_sum.data()}, range, Stage::weights, block.data());
  EXPECT_EQ(block, std::vector<float>(4, 0.1f));
  EXPECT_THROW(tile(head.problem, {}, {0, 0, 0, 11, 0, 1}, Stage::raw, block.data()), BadArgument);
}

TEST_P(AttentionTest, OffsetsBeyondEveryKeyHaveNoWeight) {
  Head head(70);
  head.offsets = {INT64_MAX, INT64_MIN, 0};
  head.run();
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(head.offset_mass[i * 3], 0.0f);
    EXPECT_EQ(head.offset_mass[i * 3 + 1], 0.0f);
    EXPECT_GT(head.offset_mass[i * 3 + 2], 0.0f);
  }
}

TEST_P(AttentionTest, ForcingATargetDoesNotChangeWhichOnesRun) {
  EXPECT_EQ(simd_target(), GetParam());
  const auto with_one_forced = simd_targets();
  cpu::force_target("");
  EXPECT_EQ(simd_targets(), with_one_forced);
  EXPECT_NE(std::find(with_one_forced.begin(), with_one_forced.end(), GetParam()), with_one_forced.end());
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Attention, RefusesNumbersThatAreNoValueOfAnEnum) {
  Head head(3);
  const AttentionOptions options{.precision = static_cast<Precision>(2)};
  const std::string expected = "precision is 2, which is none of its values, 0 to 1";
  EXPECT_EQ(refusal([&] { attention(head.problem, {}, head.see, options); }), expected);
  EXPECT_EQ(refusal([&] { workspace_size(head.problem, {}, head.see, options); }), expected);
  EXPECT_EQ(refusal([&] { AttentionPlan(head.problem, head.see, options); }), expected);
  EXPECT_EQ(refusal([&] { attention_backward(head.problem, {}, {}, {}, options); }), expected);
  float weight = 0;
  EXPECT_EQ(refusal([&] {
              tile(head.problem, {}, {0, 0, 0, 1, 0, 1}, static_cast<Stage>(4), &weight);
            }),
            "stage is 4, which is none of its values, 0 to 3");
}

TEST(Attention, RefusesThreadCountsBelowZero) {
  Head head(3);
  EXPECT_THROW(attention(head.problem, {}, head.see, {.threads = -1}), BadArgument);
}

// A step in which a sequence has no new token: what its keys have received stays.
TEST_P(AttentionTest, RunningMassWithoutANewRow) {
  Head head(4);
  std::vector<float> sums(16 * 4), mass(4);
  head.problem.causal = true;
  head.see = {.key_mass = mass.data(), .mass_sums = sums.data(), .mass_sums_keys = 4, .mass_decay = 0.5f};
  attention(head.problem, {}, head.see);  // scores of 0: row i gives 1 / (i + 1) to each key
  const std::vector<float> after = mass;
  EXPECT_FLOAT_EQ(after[3], 0.25f);
  EXPECT_FLOAT_EQ(after[2], 0.5f / 3 + 0.25f);
  head.problem.q.shape[2] = 0;
  std::fill(mass.begin(), mass.end(), -1.0f);
  attention(head.problem, {}, head.see);
  EXPECT_EQ(mass, after);
}

TEST_P(AttentionTest, AHeadOfScaleZeroIsKnockedOutWhateverItSees) {
  for (const std::int64_t n : {3, 100}) {  // stacked rows, and a tile of them
    for (const float poison : {kNaN, INFINITY}) {
      for (const float scale : {0.0f, -0.0f}) {
        for (const auto member : {&Head::q, &Head::k, &Head::v}) {
          Head head(n);
          (head.*member)[5] = poison;
          head.problem.head_scale = {&scale, 1};
          head.run();
          for (const float x : head.out) ASSERT_TRUE(x == 0 && !std::signbit(x)) << x;
          const bool in_scores = member != &Head::v;
          EXPECT_EQ(std::isnan(head.lse[1]), in_scores) << "what the head sees is still reported";
        }
      }
    }
  }
}

TEST_P(AttentionTest, AHeadOfScaleZeroHasNoGradient) {
  Head head(3);
  head.k[5] = kNaN;
  const float scale = 0, sink = 1, slope = 1;
  head.problem.head_scale = {&scale, 1};
  head.problem.sinks = {&sink, 1};
  head.problem.alibi_slopes = {&slope, 1};
  head.run();
  const std::vector<float> dout(12, kNaN);
  std::vector<float> dq(12, 7.0f), dk = dq, dv = dq;
  float dsink = 7, dslope = 7;
  const std::array<std::int64_t, 4> shape = {1, 1, 3, 4};
  attention_backward(head.problem, {dense_view(head.out.data(), shape), head.row_max.data(), head.row_sum.data()},
                     dense_view(dout.data(), shape),
                     {.q = dense_view(dq.data(), shape),
                      .k = dense_view(dk.data(), shape),
                      .v = dense_view(dv.data(), shape),
                      .bias = {},
                      .sinks = &dsink,
                      .alibi_slopes = &dslope});
  const std::vector<float> zeros(12, 0.0f);
  EXPECT_EQ(dq, zeros);
  EXPECT_EQ(dk, zeros);
  EXPECT_EQ(dv, zeros);
  EXPECT_EQ(dsink, 0.0f);
  EXPECT_EQ(dslope, 0.0f);
}

// Lengths whose squares fp32 cannot hold.
TEST_P(AttentionTest, MeasuresValuesOfAnyLength) {
  for (const float length : {1e-30f, 1e-20f, 1.0f, 1e20f, 1e30f}) {
    Head head(2);
    head.v = {length, 0, 0, 0, 0, 0, 0, 0};
    head.see.measure = Measure::value_weight;
    head.run();
    EXPECT_FLOAT_EQ(head.key_mass[0], length);  // two rows, half of each
    EXPECT_EQ(head.key_mass[1], 0);
    EXPECT_EQ(head.topk_index[0], 0);
    EXPECT_EQ(head.topk_index[1], 1) << "a key without length is seen all the same";
    EXPECT_EQ(head.topk_weight[1], 0.5f);
    EXPECT_EQ(head.topk_index[2], -1);
  }
}

}  // namespace
}  // namespace sightline
