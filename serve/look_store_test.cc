#include "serve/look_store.h"

#include <gtest/gtest.h>

#include "serve/http_error.h"

namespace sightline::serve {
namespace {

KeptLook keep(LookStore& store, const std::string& text, std::size_t bytes) {
  return store.keep({text, false, {}}, nullptr, bytes, store.reserve(bytes));
}

bool keeps(LookStore& store, const std::string& text) { return store.find(LookKey{text, false, {}}).has_value(); }

int status_of(LookStore& store, std::size_t bytes) {
  try {
    store.reserve(bytes);
    return 200;
  } catch (const HttpError& error) {
    return error.status();
  }
}

TEST(LookStore, FindsByTextAndById) {
  LookStore store(100);
  const KeptLook kept = keep(store, "a", 10);
  EXPECT_EQ(kept.id.size(), 32U);
  EXPECT_EQ(store.find(LookKey{"a", false, {}})->id, kept.id);
  EXPECT_EQ(store.find(kept.id)->id, kept.id);
  EXPECT_FALSE(store.find(LookKey{"a", true, {}}));
  EXPECT_FALSE(store.find(LookKey{"a", false, {1}}));
  EXPECT_FALSE(store.find(std::string(32, '0')));
  EXPECT_NE(keep(store, "b", 10).id, kept.id);
}

TEST(LookStore, KeepsTheFirstOfTwoThatAreTheSame) {
  LookStore store(100);
  const KeptLook first = keep(store, "a", 10);
  EXPECT_EQ(keep(store, "a", 10).id, first.id);
  EXPECT_EQ(store.size(), 1U);
  EXPECT_EQ(store.kept_bytes(), 10U);
}

TEST(LookStore, DropsWhatWasUsedLongestAgo) {
  LookStore store(100);
  for (const char* text : {"a", "b", "c"}) keep(store, text, 30);
  EXPECT_TRUE(keeps(store, "a"));  // and so it was used
  keep(store, "d", 30);
  EXPECT_FALSE(keeps(store, "b"));
  for (const char* text : {"a", "c", "d"}) EXPECT_TRUE(keeps(store, text));
  EXPECT_EQ(store.kept_bytes(), 90U);
}

TEST(LookStore, ReservedMemoryCounts) {
  LookStore store(100);
  keep(store, "a", 60);
  {
    const auto running = store.reserve(70);  // which drops the one that is kept
    EXPECT_FALSE(keeps(store, "a"));
    EXPECT_EQ(status_of(store, 31), 503);
    EXPECT_EQ(status_of(store, 30), 200);
  }
  EXPECT_EQ(status_of(store, 100), 200);
  EXPECT_EQ(status_of(store, 101), 422);
}

TEST(LookStore, AnswersWhatTurnsOutTooLargeAndForgetsIt) {
  LookStore store(100);
  const auto running = store.reserve(50);
  const KeptLook kept = store.keep({"a", false, {}}, nullptr, 60, store.reserve(20));
  EXPECT_EQ(kept.id.size(), 32U);
  EXPECT_EQ(store.size(), 0U);
}

}  // namespace
}  // namespace sightline::serve
