#include "src/engine/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sightline::engine {
namespace {

constexpr std::int32_t kSpecialThenText[] = {0, 1, 1, 0};  // [CLS] a b [SEP]

// Observations of a map of 4 x 4 of which only the rows of text count; the rest holds numbers that would show.
struct FakeMap {
  std::vector<float> entropy = {99, 1, 2, 99};
  std::vector<float> text_entropy = {99, 0, std::log(2.0F), 99};
  std::vector<float> distance = {99, 0.5F, 1.5F, 99};
  std::vector<float> offset_mass = {9, 9, 9, 0.1F, 0.2F, 0.3F, 0.3F, 0.4F, 0.1F, 9, 9, 9};
  std::vector<float> segment_mass = {9, 9, 9, 0.25F, 0.75F, 0, 0.5F, 0.5F, 0, 9, 9, 9};

  MapObservations view() const {
    MapObservations map;
    map.rows = map.keys = 4;
    map.segments = kFixedSegments;
    map.entropy = entropy;
    map.text_entropy = text_entropy;
    map.distance = distance;
    map.offset_mass = offset_mass;
    map.segment_mass = segment_mass;
    return map;
  }
};

TEST(Summarise, AveragesOverRowsOfText) {
  const FakeMap fake;
  const MapSummary summary = summarise(fake.view(), {}, kSpecialThenText);
  EXPECT_FLOAT_EQ(summary.entropy, 1.5F);
  EXPECT_FLOAT_EQ(summary.entropy_normalised, 1.5F / std::log(4.0F));
  EXPECT_FLOAT_EQ(summary.special_share, 0.375F);
  EXPECT_FLOAT_EQ(summary.previous_share, 0.2F);
  EXPECT_FLOAT_EQ(summary.same_share, 0.3F);
  EXPECT_FLOAT_EQ(summary.next_share, 0.2F);
  EXPECT_FLOAT_EQ(summary.distance, 1);
  EXPECT_FLOAT_EQ(summary.text_entropy, std::log(2.0F) / 2);
  // Row a: all of its 0.75 on one of the two text keys; row b: even over both, so 0.
  EXPECT_FLOAT_EQ(summary.sharpness, 0.75F / 2);
}

TEST(Summarise, LetsNoHeadWinThatLeavesTheTextNothing) {
  FakeMap fake;
  fake.text_entropy = {0, 0, 0, 0};  // as peaked as can be
  fake.segment_mass = {0, 1, 0, 0.99F, 0.01F, 0, 0.99F, 0.01F, 0, 0, 1, 0};
  EXPECT_FLOAT_EQ(summarise(fake.view(), {}, kSpecialThenText).sharpness, 0.01F);
}

TEST(Summarise, TakesOneTextTokenForPeaked) {
  constexpr std::int32_t kOne[] = {0, 1, 0, 0};
  const FakeMap fake;
  EXPECT_FLOAT_EQ(summarise(fake.view(), {}, kOne).sharpness, 0.75F);
}

// [BOS] a b c, causal: the rows see 1, 2, 3 and 4 keys, of which 0, 1, 2 and 3 are text.
TEST(Summarise, NormalisesByTheKeysThatARowSees) {
  constexpr std::int32_t kBosThenText[] = {0, 1, 1, 1};
  ScoreRule causal;
  causal.causal = true;
  FakeMap fake;
  fake.entropy = {99, std::log(2.0F), std::log(3.0F), 0};  // even, even, peaked
  fake.text_entropy = {99, 0, std::log(2.0F) / 2, 0};
  fake.segment_mass = {9, 9, 9, 0.5F, 0.5F, 0, 0.6F, 0.4F, 0, 0.2F, 0.8F, 0};
  const MapSummary summary = summarise(fake.view(), causal, kBosThenText);
  EXPECT_FLOAT_EQ(summary.entropy_normalised, 2.0F / 3);
  // Row a has no choice among text keys: b's 0.4 is half as peaked as can be, c's 0.8 all.
  EXPECT_FLOAT_EQ(summary.sharpness, (0.4F / 2 + 0.8F) / 2);
}

TEST(Summarise, NormalisesByTheWindow) {
  constexpr std::int32_t kText[] = {2, 1, 1, 1};
  ScoreRule windowed;
  windowed.causal = true;
  windowed.window_left = 1;
  FakeMap fake;
  fake.entropy = {99, std::log(2.0F), std::log(2.0F), std::log(2.0F)};
  fake.segment_mass = {9, 9, 9, 0, 0.5F, 0.5F, 0, 1, 0, 0, 1, 0};
  fake.text_entropy = {99, 0, std::log(2.0F), 0};
  const MapSummary summary = summarise(fake.view(), windowed, kText);
  EXPECT_FLOAT_EQ(summary.entropy_normalised, 1);
  EXPECT_FLOAT_EQ(summary.first_share, 0.5F / 3);
  EXPECT_FLOAT_EQ(summary.sharpness, 0.5F);
}

TEST(Summarise, IsZeroWithoutText) {
  constexpr std::int32_t kNone[] = {0, 0, 0, 0};
  const FakeMap fake;
  EXPECT_EQ(summarise(fake.view(), {}, kNone).entropy, 0);
}

}  // namespace
}  // namespace sightline::engine
