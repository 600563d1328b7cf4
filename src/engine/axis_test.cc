#include "src/engine/axis.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "sightline/error.h"

namespace sightline::engine {
namespace {

Axis axis(std::initializer_list<const char*> labels) {
  Axis items;
  for (const char* label : labels) items.push_back({label, 0, 1, 0, 0, false});
  return items;
}

std::string refusal(const Axis& items, std::string_view spec) {
  try {
    find_item(items, spec);
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "accepted";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(FindItem, FindsByTextByOccurrenceAndByNumber) {
  const Axis items = axis({"[CLS]", "It", "said", "it", "was", "it", "."});
  EXPECT_EQ(find_item(items, "said"), 2u);
  EXPECT_EQ(find_item(items, "It"), 1u);  // case decides where it matches exactly
  EXPECT_EQ(find_item(items, "it:2"), 5u);
  EXPECT_EQ(find_item(items, "It:1"), 1u);
  EXPECT_EQ(find_item(items, "#4"), 3u);
  EXPECT_EQ(find_item(items, "[CLS]"), 0u);
}

TEST(FindItem, IgnoresCaseWhereNothingMatchesExactly) {
  EXPECT_EQ(find_item(axis({"The", "animal"}), "the"), 0u);
  EXPECT_EQ(find_item(axis({"Stra\u00dfe", "x"}), "STRASSE"), 0u);  // full case folding
  EXPECT_EQ(find_item(axis({"The", "a", "THE"}), "the:2"), 2u);
}

TEST(FindItem, PrefersAnItemSpelledLikeTheSpec) {
  const Axis items = axis({"12", "12:2", "12", "#", "#2"});
  EXPECT_EQ(find_item(items, "12:2"), 1u);
  EXPECT_EQ(find_item(items, "#"), 3u);
  EXPECT_EQ(find_item(items, "#2"), 4u);
  EXPECT_EQ(find_item(axis({"a", ":"}), ":"), 1u);
}

TEST(FindItem, AsksWhichOneWhereSeveralMatch) {
  const std::string message = refusal(axis({"the", "cat", "the"}), "the");
  EXPECT_TRUE(has(message, "\"the:1\", \"the:2\"")) << message;
  EXPECT_TRUE(has(message, "2 times")) << message;
}

TEST(FindItem, RefusesWhatIsNotThere) {
  const Axis items = axis({"a", "cat", "a"});
  EXPECT_TRUE(has(refusal(items, "dog"), "no \"dog\" in the text; it has \"a\", \"cat\", \"a\""))
      << refusal(items, "dog");
  EXPECT_TRUE(has(refusal(items, "a:3"), "stands there 2 times")) << refusal(items, "a:3");
  EXPECT_TRUE(has(refusal(items, "#4"), "#1 to #3")) << refusal(items, "#4");
  for (const char* spec : {"a:0", "a:", "a:x", "#0", "#-1", "#1x", "", ":1", "#99999999999999999999"}) {
    EXPECT_NE(refusal(items, spec), "accepted") << spec;
  }
}

TEST(FindItem, ListsOnlyAFewOfMany) {
  Axis many = axis({});
  for (int i = 0; i < 100; ++i)
    many.push_back({std::string(static_cast<std::size_t>(i + 1), 'w'), i, i + 1, 0, 0, false});
  const std::string message = refusal(many, "dog");
  EXPECT_LT(message.size(), 200u);
  EXPECT_TRUE(has(message, "...")) << message;
  EXPECT_FALSE(has(refusal(many, "two\nlines"), "\n"));
}

TEST(HasItem, CountsAmbiguousNamesToo) {
  const Axis items = axis({"a", "cat", "a"});
  EXPECT_TRUE(has_item(items, "a"));
  EXPECT_TRUE(has_item(items, "CAT"));
  EXPECT_TRUE(has_item(items, "a:2"));
  EXPECT_TRUE(has_item(items, "#3"));
  EXPECT_FALSE(has_item(items, "dog"));
}

TEST(Shortened, KeepsSixtyCharacters) {
  std::string sixty;
  for (int i = 0; i < 60; ++i) sixty += "\u00e9";
  EXPECT_EQ(shortened(""), "");
  EXPECT_EQ(shortened(sixty), sixty);
  EXPECT_EQ(shortened(sixty + "e"), sixty + "...");
  EXPECT_EQ(shortened(std::string(500, '\x80')), std::string(240, '\x80') + "...");  // not UTF-8
}

}  // namespace
}  // namespace sightline::engine
