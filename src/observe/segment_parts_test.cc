#include "src/observe/segment_parts.h"

#include <numeric>

#include "gtest/gtest.h"
#include "src/observe/chain_fold.h"

namespace sightline {
namespace {

TEST(SegmentParts, AreCutAtBlocksOfPositions) {
  // Keys stand at 60..69: slots 60..63 of block 0, then 0..5 of block 1.
  const std::vector<std::int32_t> segments = {0, 1, 0, -1, 1, 1, 1, 1, 1, 1};
  const SegmentParts parts(segments, 60);
  const auto first = parts.at(0);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].segment, 0);
  EXPECT_EQ(first[0].slots, std::uint64_t{0b101} << 60);
  EXPECT_EQ(first[1].segment, 1);
  EXPECT_EQ(first[1].slots, std::uint64_t{1} << 61);
  const auto second = parts.at(64);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].segment, 1);
  EXPECT_EQ(second[0].slots, 0b111111u);
}

TEST(SegmentParts, BlocksWithoutAnySegmentAreEmpty) {
  std::vector<std::int32_t> segments(200, -1);
  segments[199] = 3;
  const SegmentParts parts(segments, 0);
  EXPECT_TRUE(parts.at(0).empty());
  EXPECT_TRUE(parts.at(64).empty());
  EXPECT_EQ(parts.at(192)[0].slots, std::uint64_t{1} << 7);
}

TEST(ColumnBins, BeginAtFloorOfTheEvenCut) {
  for (std::int64_t keys = 1; keys < 40; ++keys) {
    for (std::int64_t bins = 1; bins <= keys; ++bins) {
      const auto bin_of_key = column_bins({keys, bins});
      for (std::int64_t b = 0; b < bins; ++b) {
        for (std::int64_t key = b * keys / bins; key < (b + 1) * keys / bins; ++key) {
          ASSERT_EQ(bin_of_key[static_cast<std::size_t>(key)], b) << keys << " keys, " << bins << " bins";
        }
      }
    }
  }
}

TEST(ColumnBins, OfAStepHoldThatManyKeysAndTheLastWhatIsLeft) {
  for (std::int64_t keys = 0; keys < 40; ++keys) {
    for (std::int64_t step = 1; step < 12; ++step) {
      const std::int64_t enough = (keys + step - 1) / step;
      for (const std::int64_t count : {enough, enough + 2}) {
        const auto bin_of_key = column_bins({keys, count, step});
        std::int64_t items = 0;
        for (std::int64_t bin = 0; bin < count; ++bin) items += Bins{keys, count, step}.size(bin);
        EXPECT_EQ(items, keys);
        for (std::int64_t key = 0; key < keys; ++key) {
          ASSERT_EQ(bin_of_key[static_cast<std::size_t>(key)], key / step) << keys << " keys by " << step;
        }
      }
    }
  }
}

TEST(FoldChains, HalvesFromTheFarEnd) {
  float chains[kChains];
  std::iota(chains, chains + kChains, 1.0f);
  EXPECT_EQ(fold_chains(chains), 136.0f);
  // 2^24 + 1 is lost in fp32: the result tells the order. Chains 0 and 8 meet first.
  for (float& chain : chains) chain = 0;
  chains[0] = 16777216.0f, chains[8] = 1.0f, chains[1] = 1.0f;
  EXPECT_EQ(fold_chains(chains), 16777216.0f);
  chains[8] = 0, chains[9] = 1.0f;
  EXPECT_EQ(fold_chains(chains), 16777218.0f);
}

}  // namespace
}  // namespace sightline
