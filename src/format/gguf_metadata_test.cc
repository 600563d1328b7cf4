#include <gtest/gtest.h>

#include <limits>

#include "src/format/gguf.h"
#include "src/format/gguf_testing.h"
#include "src/format/testing.h"

namespace sightline::format {
namespace {

// One key of each type. Values are at the ends of their ranges.
std::string all_types() {
  return GgufBuilder()
      .number("u8", std::uint8_t{255})
      .number("i8", std::int8_t{-128})
      .number("u16", std::uint16_t{65535})
      .number("i16", std::int16_t{-32768})
      .number("u32", std::uint32_t{4294967295})
      .number("i32", std::int32_t{INT32_MIN})
      .number("u64", std::uint64_t{INT64_MAX})
      .number("i64", std::int64_t{INT64_MIN})
      .number("over", std::uint64_t{1} << 63)
      .number("f32", 0.5f)
      .number("f64", 1e-300)
      .number("nan", std::numeric_limits<float>::quiet_NaN())
      .number("yes", true)
      .number("no", false)
      .raw("maybe", GgufType::boolean, "\x02")
      .string("text", "na\xC3\xAFve")
      .string("empty", "")
      .strings("words", {"a", "", "ccc"})
      .numbers("ints", std::vector<std::int32_t>{3, -1})
      .numbers("flags", std::vector<std::uint8_t>{1, 0})
      .numbers("large", std::vector<std::uint64_t>{std::uint64_t{1} << 63})
      .numbers("floats", std::vector<float>{1.5f, -2})
      .numbers("doubles", std::vector<double>{1.5})
      .numbers("none", std::vector<float>{})
      .bytes();
}

class Metadata : public testing::Test {
 protected:
  template <class Getter>
  std::string refusal(Getter getter) const {
    return error_of<BadFile>([&] { getter(metadata); });
  }

  const std::string bytes = all_types();
  const GgufFile file = parse_gguf(bytes);
  const GgufMetadata& metadata = file.metadata();
};

TEST_F(Metadata, GivesIntegersOfEveryType) {
  EXPECT_EQ(metadata.find_int("u8", 0), 255);
  EXPECT_EQ(metadata.find_int("i8", -200), -128);
  EXPECT_EQ(metadata.find_int("u16", 0), 65535);
  EXPECT_EQ(metadata.find_int("i16", INT64_MIN), -32768);
  EXPECT_EQ(metadata.find_int("u32", 0), 4294967295);
  EXPECT_EQ(metadata.find_int("i32", INT64_MIN), INT32_MIN);
  EXPECT_EQ(metadata.find_int("u64", 0), INT64_MAX);
  EXPECT_EQ(metadata.find_int("i64", INT64_MIN), INT64_MIN);
  EXPECT_EQ(metadata.require_int("u8", 255, 255), 255);
  EXPECT_EQ(metadata.find_int("absent", 0), std::nullopt);
}

TEST_F(Metadata, RefusesIntegersOutOfRangeAndOtherTypes) {
  EXPECT_EQ(refusal([](auto& m) { m.find_int("u8", 1, 254); }),
            "m.gguf: \"u8\" must be a whole number from 1 to 254, not 255 (u8)");
  EXPECT_EQ(refusal([](auto& m) { m.find_int("i8", 1); }),
            "m.gguf: \"i8\" must be a whole number, 1 or more, not -128 (i8)");
  EXPECT_NE(refusal([](auto& m) { m.find_int("over", 0); }).find("not a number beyond 2^63 (u64)"), std::string::npos);
  for (const char* key : {"f32", "yes", "text", "ints", "words"}) {
    EXPECT_NE(refusal([&](auto& m) { m.find_int(key, INT64_MIN); }).find(std::string("m.gguf: \"") + key),
              std::string::npos);
  }
  EXPECT_EQ(refusal([](auto& m) { m.require_int("absent", 0); }), "m.gguf: \"absent\" is missing");
}

TEST_F(Metadata, GivesNumbers) {
  EXPECT_EQ(metadata.find_number("f32"), 0.5);
  EXPECT_EQ(metadata.find_number("f64"), 1e-300);
  EXPECT_EQ(metadata.find_number("i16"), -32768);
  EXPECT_EQ(metadata.find_number("absent"), std::nullopt);
  for (const char* key : {"nan", "over", "yes", "text", "floats"}) {
    EXPECT_NE(refusal([&](auto& m) { m.find_number(key); }).find("must be a finite number, not "), std::string::npos);
  }
}

TEST_F(Metadata, GivesBooleans) {
  EXPECT_EQ(metadata.find_bool("yes"), true);
  EXPECT_EQ(metadata.find_bool("no"), false);
  EXPECT_EQ(metadata.find_bool("absent"), std::nullopt);
  EXPECT_EQ(refusal([](auto& m) { m.find_bool("maybe"); }),
            "m.gguf: \"maybe\" must be true or false, not 2 (a boolean)");
  EXPECT_EQ(refusal([](auto& m) { m.find_bool("u8"); }), "m.gguf: \"u8\" must be true or false, not 255 (u8)");
}

TEST_F(Metadata, GivesStrings) {
  EXPECT_EQ(metadata.find_string("text"), "na\xC3\xAFve");
  EXPECT_EQ(metadata.require_string("empty"), "");
  EXPECT_EQ(metadata.find_string("absent"), std::nullopt);
  EXPECT_EQ(metadata.find_string("text")->data(), bytes.data() + bytes.find("na\xC3\xAFve"));  // not a copy
  EXPECT_EQ(refusal([](auto& m) { m.find_string("words"); }),
            "m.gguf: \"words\" must be a string, not an array of 3, of a string");
  EXPECT_EQ(refusal([](auto& m) { m.require_string("absent"); }), "m.gguf: \"absent\" is missing");
}

TEST_F(Metadata, GivesArrays) {
  EXPECT_EQ(metadata.find_strings("words"), (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(metadata.find_ints("ints"), (std::vector<std::int64_t>{3, -1}));
  EXPECT_EQ(metadata.find_ints("flags"), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(metadata.find_ints("u16"), (std::vector<std::int64_t>{65535}));
  EXPECT_EQ(metadata.find_floats("floats"), (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(metadata.find_floats("none"), std::vector<float>{});
  EXPECT_EQ(metadata.find_strings("absent"), std::nullopt);
  EXPECT_EQ(metadata.find_ints("absent"), std::nullopt);
  EXPECT_EQ(metadata.find_floats("absent"), std::nullopt);
}

TEST_F(Metadata, RefusesArraysOfOtherTypes) {
  EXPECT_EQ(refusal([](auto& m) { m.find_strings("text"); }),
            "m.gguf: \"text\" must be an array of strings, not \"na\\u00efve\"");
  for (const char* key : {"floats", "words", "f32", "yes", "large", "over"}) {
    EXPECT_NE(refusal([&](auto& m) { m.find_ints(key); }).find("an array of whole numbers"), std::string::npos) << key;
  }
  for (const char* key : {"doubles", "ints", "f32", "words"}) {
    EXPECT_NE(refusal([&](auto& m) { m.find_floats(key); }).find("an array of f32"), std::string::npos) << key;
  }
}

TEST_F(Metadata, ListsKeysSorted) {
  const std::vector<std::string> keys = metadata.keys();
  EXPECT_EQ(keys.size(), 24u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_TRUE(metadata.has("u8"));
  EXPECT_FALSE(metadata.has("u"));
  EXPECT_EQ(metadata.where("u8"), "m.gguf: \"u8\"");
}

}  // namespace
}  // namespace sightline::format
