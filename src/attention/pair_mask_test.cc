#include "src/attention/pair_mask.h"

#include <gtest/gtest.h>

#include <random>

#include "sightline/error.h"
#include "src/attention/cut_set.h"
#include "src/attention/tree.h"

namespace sightline {
namespace {

TEST(PairMask, BitsTurnOver) {
  std::mt19937_64 random(1);
  std::uint64_t words[64], turned[64];
  for (int i = 0; i < 64; ++i) turned[i] = words[i] = random();
  transpose_bits(turned);
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 64; ++j) ASSERT_EQ(words[i] >> j & 1, turned[j] >> i & 1) << i << " " << j;
  }
}

TEST(PairMask, SlotsAsBits) {
  EXPECT_EQ(slot_bits(0, 64), ~std::uint64_t{0});
  EXPECT_EQ(slot_bits(0, 1), 1u);
  EXPECT_EQ(slot_bits(63, 64), std::uint64_t{1} << 63);
  EXPECT_EQ(slot_bits(3, 5), 0b11000u);
  EXPECT_EQ(slot_bits(5, 5), 0u);
  EXPECT_EQ(slot_bits(70, 64), 0u);
}

// Any byte that is not 0 attends, whatever its bits, and at any alignment.
TEST(PairMask, FlagsAreBytesThatAreNotZero) {
  std::vector<std::uint8_t> bytes(80);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = i % 3 == 0 ? 0 : static_cast<std::uint8_t>(1 << i % 8);
  for (int shift = 0; shift < 8; ++shift) {
    HeadProblem head;
    head.rows = 1;
    head.keys = 61;
    head.mask = {reinterpret_cast<const std::byte*>(bytes.data()) + shift, DType::boolean, 0, 0, 1};
    TileBlock block;
    block.end = 61;
    std::uint64_t lane = ~std::uint64_t{0};
    TileRows tile{0, 1, 0, 1};
    hide_pairs(head, tile, block, &lane);
    for (int slot = 0; slot < 61; ++slot) ASSERT_EQ(lane >> slot & 1, (slot + shift) % 3 == 0 ? 0u : 1u) << slot;
  }
}

TEST(Tree, NodesSeeTheirAncestors) {
  //   0      4
  //  / \     |
  // 1   2    5
  //     |
  //     3
  const std::int32_t parents[] = {-1, 0, 0, 2, -1, 4};
  const Tree tree(parents);
  const int depths[] = {0, 1, 1, 2, 0, 1};
  const std::uint64_t sees[] = {0b1, 0b11, 0b101, 0b1101, 0b10000, 0b110000};
  for (int node = 0; node < 6; ++node) {
    EXPECT_EQ(tree.depth(node), depths[node]);
    for (int other = 0; other < 6; ++other) EXPECT_EQ(tree.sees(node, other), (sees[node] >> other & 1) != 0);
  }
}

TEST(Tree, RefusesParentsThatComeLater) {
  for (const std::int32_t parent : {1, 2, -2}) {
    const std::int32_t parents[] = {-1, parent};
    EXPECT_THROW(Tree{parents}, BadArgument) << parent;
  }
  const std::vector<std::int32_t> many(Tree::kMaxNodes + 1, -1);
  EXPECT_THROW(Tree{many}, BadArgument);
}

TEST(CutSet, HidesRowsFromKeysInHeads) {
  const std::int64_t heads[] = {1}, rows[] = {2, 5, 5}, keys[] = {0, 7};
  const EdgeCut cuts[] = {{-1, heads, rows, keys}, {1, {}, {}, {keys, 1}}};
  const CutSet set(cuts, 2, 3, 6, 8);
  for (std::int64_t batch = 0; batch < 2; ++batch) {
    for (std::int64_t head = 0; head < 3; ++head) {
      for (std::int64_t row = 0; row < 6; ++row) {
        for (std::int64_t key = 0; key < 8; ++key) {
          const bool first = head == 1 && (row == 2 || row == 5) && (key == 0 || key == 7);
          const bool second = batch == 1 && key == 0;
          EXPECT_EQ(set.hides(batch, head, row, key), first || second);
          EXPECT_EQ(set.meets(batch, head, head + 1, row, row + 1, key, key + 1), first || second);
        }
      }
    }
  }
  EXPECT_TRUE(set.meets(0, 0, 3, 0, 6, 0, 8));
  EXPECT_FALSE(set.meets(0, 0, 3, 3, 5, 0, 8));
}

TEST(CutSet, RefusesIndexesOutside) {
  const std::int64_t far[] = {6}, below[] = {-1};
  const EdgeCut faults[] = {{2, {}, {}, {}}, {-1, far, {}, {}}, {-1, {}, far, {}}, {-1, {}, {}, below}};
  for (const EdgeCut& fault : faults) EXPECT_THROW(CutSet({&fault, 1}, 2, 3, 6, 6), BadArgument);
}

// At the ends of what an offset can be, and for biases that no problem may have.
TEST(RelativeBucket, OfAnyOffset) {
  const RelativeBias both{{}, 32, 128, true}, before{{}, 32, 128, false};
  EXPECT_EQ(relative_bucket(both, INT64_MIN), 15);
  EXPECT_EQ(relative_bucket(both, INT64_MAX), 31);
  EXPECT_EQ(relative_bucket(before, INT64_MIN), 31);
  EXPECT_EQ(relative_bucket(before, INT64_MAX), 0);
  for (const RelativeBias& bias : {RelativeBias{{}, 0, 128, true}, RelativeBias{{}, -4, 128, false},
                                   RelativeBias{{}, 1, 128, false}, RelativeBias{{}, 32, 16, false}}) {
    EXPECT_THROW(relative_bucket(bias, 3), BadArgument) << bias.buckets;
  }
}

}  // namespace
}  // namespace sightline
