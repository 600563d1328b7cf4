#include "src/analysis/alignment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>

namespace sightline::analysis {
namespace {

using Symbols = std::vector<std::int64_t>;
using Pairs = std::vector<AlignedPair>;

// The length of a longest common subsequence by the table of all prefixes.
std::size_t longest_common(const Symbols& a, const Symbols& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      table[i + 1][j + 1] = a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
    }
  }
  return table[a.size()][b.size()];
}

std::size_t count_same(const Pairs& pairs) {
  return static_cast<std::size_t>(std::ranges::count_if(pairs, &AlignedPair::same));
}

// What every alignment is, whatever the sequences.
void check(const Symbols& a, const Symbols& b) {
  const Pairs pairs = align(a, b);
  std::int64_t next_a = 0, next_b = 0;
  for (const AlignedPair& pair : pairs) {
    RC_ASSERT(pair.a >= 0 || pair.b >= 0);
    if (pair.a >= 0) RC_ASSERT(pair.a == next_a++);
    if (pair.b >= 0) RC_ASSERT(pair.b == next_b++);
    const bool equal = pair.paired() && a[static_cast<std::size_t>(pair.a)] == b[static_cast<std::size_t>(pair.b)];
    RC_ASSERT(pair.same == equal);
    if (!pair.paired() || pair.same) continue;
    RC_ASSERT(a[static_cast<std::size_t>(pair.a)] >= 0);
    RC_ASSERT(b[static_cast<std::size_t>(pair.b)] >= 0);
  }
  RC_ASSERT(next_a == std::ssize(a));
  RC_ASSERT(next_b == std::ssize(b));
  RC_ASSERT(count_same(pairs) == longest_common(a, b));
  RC_ASSERT(count_same(align(b, a)) == count_same(pairs));
}

RC_GTEST_PROP(Alignment, IsALongestCommonSubsequence, ()) {
  const auto alphabet = *rc::gen::inRange<std::int64_t>(1, 12);
  const auto symbols = rc::gen::container<Symbols>(rc::gen::inRange<std::int64_t>(-1, alphabet));
  check(*symbols, *symbols);
}

// Texts as they are compared: one is the other with a few words gone, new or replaced.
RC_GTEST_PROP(Alignment, IsALongestCommonSubsequenceOfEdits, ()) {
  const auto a = *rc::gen::container<Symbols>(rc::gen::inRange<std::int64_t>(0, 30));
  Symbols b = a;
  for (int edits = *rc::gen::inRange(0, 6); edits > 0 && !b.empty(); --edits) {
    const auto at = b.begin() + *rc::gen::inRange<std::int64_t>(0, std::ssize(b));
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        b.erase(at);
        break;
      case 1:
        b.insert(at, *rc::gen::inRange<std::int64_t>(0, 40));
        break;
      default:
        *at = *rc::gen::inRange<std::int64_t>(0, 40);
    }
  }
  check(a, b);
}

TEST(Alignment, PairsWhatReplacesOneAnother) {
  EXPECT_EQ(align(Symbols{1, 2, 3}, Symbols{1, 9, 3}), (Pairs{{0, 0, true}, {1, 1, false}, {2, 2, true}}));
  EXPECT_EQ(align(Symbols{1, 2, 3, 4}, Symbols{1, 9, 4}),
            (Pairs{{0, 0, true}, {1, 1, false}, {2, -1, false}, {3, 2, true}}));
  EXPECT_EQ(align(Symbols{1, 4}, Symbols{1, 8, 9, 4}),
            (Pairs{{0, 0, true}, {-1, 1, false}, {-1, 2, false}, {1, 3, true}}));
  EXPECT_EQ(align(Symbols{1}, Symbols{2}), (Pairs{{0, 0, false}}));
  EXPECT_EQ(align(Symbols{-1, 5}, Symbols{-1, -2}), (Pairs{{0, 0, true}, {1, -1, false}, {-1, 1, false}}));
  EXPECT_TRUE(align({}, {}).empty());
  EXPECT_EQ(align({}, Symbols{3}), (Pairs{{-1, 0, false}}));
}

// Ten thousand words: of texts that differ in few, that share nothing, and the worst that there is, in which every
// symbol is shared and nearly none can be paired.
TEST(Alignment, TakesLongTexts) {
  constexpr std::int64_t kWords = 10'000;
  std::mt19937 random(7);
  Symbols words, edited, others, shuffled;
  for (std::int64_t i = 0; i < kWords; ++i) words.push_back(static_cast<std::int64_t>(random() % 3000));
  edited = words;
  for (int i = 0; i < 100; ++i) edited[random() % edited.size()] = 5000;
  for (std::int64_t i = 0; i < kWords; ++i) others.push_back(kWords + i);
  shuffled.resize(kWords);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  const Symbols sorted = shuffled;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  const auto seconds = [](const Symbols& a, const Symbols& b, std::size_t least) {
    const std::clock_t begin = std::clock();
    EXPECT_GE(count_same(align(a, b)), least);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(words, edited, kWords - 100), 1);
  EXPECT_LT(seconds(words, others, 0), 1);
  const double worst = seconds(sorted, shuffled, 100);
  RecordProperty("worst_ms", static_cast<int>(worst * 1000));
  EXPECT_LT(worst, 10) << "0.4 s where the machine is idle and nothing is instrumented";
}

}  // namespace
}  // namespace sightline::analysis
