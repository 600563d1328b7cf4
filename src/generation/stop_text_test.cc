#include "src/generation/stop_text.h"

#include <gtest/gtest.h>

#include "sightline/error.h"

namespace sightline::model {
namespace {

TEST(StopText, HoldsBackWhatMayBeOne) {
  StopText stops({"ab", "abcd", "\n\nQ"});
  EXPECT_EQ(stops.add("xa"), "x");
  EXPECT_EQ(stops.add("a\n"), "aa");
  EXPECT_EQ(stops.add("\n"), "");
  EXPECT_EQ(stops.add("R"), "\n\nR");
  EXPECT_EQ(stops.add("a"), "");
  EXPECT_EQ(stops.finish(), "a");
  EXPECT_FALSE(stops.found());
  EXPECT_EQ(stops.add("yabcdz"), "y");
  EXPECT_EQ(stops.found(), "abcd");  // the longest of those that begin first
  EXPECT_EQ(stops.add("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

// However a text comes, what is shown of it is what stands before the first stop.
TEST(StopText, DoesNotDependOnThePieces) {
  const std::string text = "aabaab\xC3\xA9 aabaaab end";
  for (const std::string stop : {"aabaaab", "\xC3\xA9", "end", "aaa", "b", "no"}) {
    const std::string want = text.substr(0, text.find(stop));
    for (std::size_t length = 1; length <= text.size(); ++length) {
      StopText stops({stop});
      std::string shown;
      for (std::size_t at = 0; at < text.size(); at += length) shown += stops.add(text.substr(at, length));
      EXPECT_EQ(shown + stops.finish(), want) << stop << ", pieces of " << length;
      EXPECT_EQ(stops.found().has_value(), want.size() < text.size());
    }
  }
}

TEST(StopText, RefusesAnEmptyOne) { EXPECT_THROW(StopText({"a", ""}), BadArgument); }

}  // namespace
}  // namespace sightline::model
