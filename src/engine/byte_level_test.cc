// Words of pieces that are bytes: what a reader sees of code, line ends, ideographs and emoji.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/engine/session.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

const Session& tiny() {
  static const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"));
  return session;
}

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> all;
  for (const AxisItem& item : axis) all.push_back(item.label);
  return all;
}

std::vector<std::string> words(const std::string& text) { return labels(tiny().look(text).words()); }
std::vector<std::string> pieces(const std::string& text) { return labels(tiny().look(text).axis(true, true)); }

using Labels = std::vector<std::string>;

TEST(ByteLevel, PiecesReadAsTheirText) {
  EXPECT_EQ(pieces("the cat"), (Labels{"the", "cat"}));
  EXPECT_EQ(words("the cat"), (Labels{"the", "cat"}));
  EXPECT_EQ(words("the cats"), (Labels{"the", "cats"}));
}

TEST(ByteLevel, WordsFollowWhiteSpaceAndSigns) {
  EXPECT_EQ(words("cat(mat,1.5) "), (Labels{"cat", "(", "mat", ",", "1.5", ")", " "}));
  EXPECT_EQ(words("didn't sit"), (Labels{"didn't", "sit"}));
}

TEST(ByteLevel, LineEndsAndIndentsAreWordsOfTheirOwn) {
  const Labels found = words("the\n\n    cat");
  EXPECT_EQ(found.front(), "the");
  EXPECT_EQ(found.back(), "cat");
  std::string between;
  for (std::size_t i = 1; i + 1 < found.size(); ++i) between += found[i];
  EXPECT_EQ(between.substr(0, 2), "\n\n");
}

TEST(ByteLevel, CharactersThatWereCutIntoBytesAreOneWord) {
  EXPECT_EQ(words("the 動物"), (Labels{"the", "動", "物"}));
  EXPECT_EQ(words("cat 👍🏽 mat"), (Labels{"cat", "👍🏽", "mat"}));
  EXPECT_EQ(words("naïve"), (Labels{"naïve"}));
}

TEST(ByteLevel, BytesOfACutCharacterAreSpelledOut) {
  const Labels found = pieces("動");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found, (Labels{"\\xe5", "\\x8b", "\\x95"}));
}

}  // namespace
}  // namespace sightline::engine
