#include "src/analysis/distance_study.h"

#include <gtest/gtest.h>

#include "sightline/error.h"
#include "src/analysis/planted_key.h"

namespace sightline::analysis {
namespace {

TEST(PlantedKey, IsReadAlikeWhereverItStands) {
  for (const std::int64_t n : {16, 512, 8192}) {
    for (const std::int64_t position : {std::int64_t{0}, std::int64_t{3}, n / 2, n - 13, n - 1}) {
      NormalNumbers draw(2);
      PlantedKey key(n, position, draw);
      key.read();
      EXPECT_NEAR(key.weight(), 0.75, 1e-6) << n << ' ' << position;
      EXPECT_LT(key.error(), 1e-6) << n << ' ' << position;
    }
  }
}

// A row of a window of 128 sees 127 keys back.
TEST(WindowLayers, AreStepsOverTheReachOfOne) {
  EXPECT_EQ(window_layers(0, 128), 0);
  EXPECT_EQ(window_layers(1, 128), 1);
  EXPECT_EQ(window_layers(127, 128), 1);
  EXPECT_EQ(window_layers(128, 128), 2);
  EXPECT_EQ(window_layers(508, 128), 4);
  EXPECT_EQ(window_layers(7, 2), 7);
}

TEST(StudyDistance, ReadsKey3AndKey499Of512) {
  StudyInput input;
  input.options.longest = 512;
  input.options.repetitions = 1;
  const Study study = study_distance(input);
  ASSERT_EQ(study.tables.size(), 1u);
  const std::vector<Column>& columns = study.tables[0].columns;
  EXPECT_EQ(columns[0].values.front(), 3);
  EXPECT_EQ(columns[0].values.back(), 499);
  EXPECT_EQ(columns[1].values.front(), 508);
  EXPECT_EQ(columns[1].values.back(), 12);
  for (const double weight : columns[3].values) EXPECT_NEAR(weight, 0.75, 1e-6);
  for (const double microseconds : columns[5].values) EXPECT_GT(microseconds, 0);
  EXPECT_TRUE(columns[5].timed);
  EXPECT_TRUE(study.complete);
}

TEST(StudyDistance, RefusesLengthsThatItDoesNotMeasure) {
  for (const std::int64_t longest : {511, (1 << 20) + 1}) {
    StudyInput input;
    input.options.longest = longest;
    EXPECT_THROW(study_distance(input), BadArgument);
  }
}

}  // namespace
}  // namespace sightline::analysis
