#include "src/format/json.h"

#include <gtest/gtest.h>

#include <functional>

#include "src/format/testing.h"

namespace sightline::format {
namespace {

using nlohmann::json;

std::string refusal(std::string_view text, const JsonLimits& limits = {}) {
  return error_of<BadFile>([&] { parse_json(text, "config.json", limits); });
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const json value = parse_json(
      R"( {"a": [1, -2, 2.5, 1e-12, true, false, null, "\u00e9\ud83d\ude00\n"], "b": {"c": {}, "d": []},
           "big": 18446744073709551615, "small": -9223372036854775808} )",
      "f");
  const json expected = {{"a", {1, -2, 2.5, 1e-12, true, false, nullptr, "\xC3\xA9\xF0\x9F\x98\x80\n"}},
                         {"b", {{"c", json::object()}, {"d", json::array()}}},
                         {"big", UINT64_MAX},
                         {"small", INT64_MIN}};
  EXPECT_EQ(value, expected);
  EXPECT_TRUE(value["a"][0].is_number_unsigned());
  EXPECT_TRUE(value["a"][3].is_number_float());
}

TEST(ParseJson, ReadsScalarsAtTheTop) {
  EXPECT_EQ(parse_json("7", "f"), json(7));
  EXPECT_EQ(parse_json("\"x\"", "f"), json("x"));
  EXPECT_TRUE(parse_json("null", "f").is_null());
}

TEST(ParseJson, KeepsArraysOfContainersApart) {
  const json value = parse_json(R"([[1,[2]],{"x":[{"y":3},{"y":4}]},[],[[]]])", "f");
  EXPECT_EQ(value.dump(), R"([[1,[2]],{"x":[{"y":3},{"y":4}]},[],[[]]])");
}

TEST(ParseJson, RefusesWhatIsNotJsonSayingWhere) {
  EXPECT_EQ(refusal(R"({"a": tru})"), "config.json: byte 10: not valid JSON: invalid literal");
  for (const char* text :
       {"",      "   ",     "{",         "[1,",    "[1,]",     "{\"a\":1,}", "{\"a\"}",     "{1:2}",       "[1] 2",
        "{} {}", "'a'",     "nan",       "NaN",    "Infinity", "01",         "1.",          ".5",          "+1",
        "\"a",   "\"\\x\"", "\"\\u12\"", "\"\t\"", "// c\n1",  "[1 /*c*/]",  "\"\\ud800\"", "\"\\udc00\"", "1e999",
        "-",     "tru",     "\xEF\xBB"}) {
    const std::string message = refusal(text);
    EXPECT_NE(message.find("config.json: byte "), message.npos) << text;
    EXPECT_NE(message.find("not valid JSON: "), message.npos) << text;
  }
}

TEST(ParseJson, RefusesIllFormedUtf8) {
  // A lone continuation, a cut sequence, an overlong form, a surrogate, beyond U+10FFFF, bytes that never occur.
  for (const char* bytes : {"\x80", "\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\xE2\x82"}) {
    EXPECT_NE(refusal("{\"" + std::string(bytes) + "\": 1}").find("UTF-8"), std::string::npos);
    EXPECT_NE(refusal("[\"" + std::string(bytes) + "\"]").find("UTF-8"), std::string::npos);
  }
  EXPECT_EQ(parse_json("\"\xF4\x8F\xBF\xBF\"", "f"), json("\xF4\x8F\xBF\xBF"));
}

TEST(ParseJson, RefusesNulBytesInsteadOfStoppingAtThem) {
  EXPECT_EQ(refusal(std::string_view("{}\0garbage", 10)), "config.json: byte 3: not valid JSON: a NUL byte");
  EXPECT_NE(refusal(std::string_view("\"a\0b\"", 5)).find("byte 3"), std::string::npos);
  EXPECT_EQ(parse_json(R"("\u0000")", "f"), json(std::string(1, '\0')));
}

TEST(ParseJson, RefusesNamesThatOccurTwiceNamingThem) {
  EXPECT_EQ(refusal(R"({"a": 1, "b": 2, "a": 1})"), "config.json: byte 20: duplicate key \"a\"");
  EXPECT_EQ(refusal(R"({"x": [{"k": {"shape": 1, "shape": 1}}]})"),
            "config.json: byte 33: duplicate key \"x.k.shape\"");
  EXPECT_NE(refusal(R"({"a": 1, "\u0061": 2})").find("duplicate key \"a\""), std::string::npos);
  EXPECT_NO_THROW(parse_json(R"([{"a": 1}, {"a": 1, "b": {"a": 1}}])", "f"));
}

TEST(ParseJson, BoundsSizeAndDepth) {
  EXPECT_NO_THROW(parse_json("[[[]]]", "f", {.max_bytes = 6, .max_depth = 3}));
  EXPECT_NE(refusal("[[[]]]", {.max_bytes = 5}).find("6 bytes"), std::string::npos);
  EXPECT_EQ(refusal("[[[]]]", {.max_depth = 2}), "config.json: byte 3: nested deeper than 2 levels");
  EXPECT_NO_THROW(parse_json(std::string(64, '[') + std::string(64, ']'), "f"));
  EXPECT_NE(refusal(std::string(65, '[') + std::string(65, ']')).find("64 levels"), std::string::npos);
  EXPECT_NE(refusal(std::string(1'000'000, '[')).find("64 levels"), std::string::npos);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_NE(refusal(objects).find("64 levels"), std::string::npos);
}

TEST(ParseJson, RefusesEveryTruncation) {
  const std::string text = R"({"a":[1,-2.5e3,true,null,"\u00e9"],"b":{"c":"é"}})";
  EXPECT_NO_THROW(parse_json(text, "f"));
  for (std::size_t size = 0; size < text.size(); ++size) refusal(std::string_view(text).substr(0, size));
}

TEST(ReadJson, NamesTheFile) {
  const TestDirectory directory;
  EXPECT_EQ(read_json(directory.put("a.json", "[1]")), json({1}));
  const auto bad = directory.put("b.json", "[1");
  EXPECT_EQ(error_of<BadFile>([&] { read_json(bad); }).find(bad.string() + ": byte 2: not valid JSON"), 0u);
  EXPECT_NE(error_of<BadFile>([&] { read_json(bad, {.max_bytes = 1}); }).find("longer than"), std::string::npos);
  const auto absent = directory / "absent.json";
  EXPECT_EQ(error_of<BadFile>([&] { read_json(absent); }),
            absent.string() + ": cannot be opened: No such file or directory");
}

TEST(Quote, IsOneShortLineOfAscii) {
  EXPECT_EQ(quote("plain"), "\"plain\"");
  EXPECT_EQ(quote("a\"b\\\n\x1b[31m\x7f"), R"("a\"b\\\n\u001b[31m\u007f")");
  EXPECT_EQ(quote("\xC2\x9B"), R"("\u009b")");  // a terminal's control sequence in one character
  EXPECT_EQ(quote("\xFF"), R"("\ufffd")");
  EXPECT_EQ(quote(std::string(160, 'a')), "\"" + std::string(160, 'a') + "\"");
  EXPECT_EQ(quote(std::string(161, 'a')), "\"" + std::string(160, 'a') + "...\"");
}

class JsonObjectTest : public testing::Test {
 protected:
  std::string refusal_of(const std::function<void(const JsonObject&)>& action) {
    return error_of<BadFile>([&] { action(object_); });
  }

  json value_ = parse_json(
      R"({"size": 12, "zero": 0, "minus": -3, "huge": 18446744073709551615, "ratio": 0.5, "whole": 2.0, "on": true,
    "text": "x", "none": null, "list": [1, 2], "rope": {"factor": "y", "inner": {"n": -1}}})",
      "config.json");
  JsonObject object_{value_, "config.json"};
};

TEST_F(JsonObjectTest, GivesWhatIsThere) {
  EXPECT_EQ(object_.require_int("size", 1), 12);
  EXPECT_EQ(object_.require_int("minus", -3, -3), -3);
  EXPECT_EQ(object_.require_number("size"), 12.0);
  EXPECT_EQ(object_.require_number("ratio"), 0.5);
  EXPECT_TRUE(object_.require_bool("on"));
  EXPECT_EQ(object_.require_string("text"), "x");
  EXPECT_EQ(object_.require_array("list"), json({1, 2}));
  EXPECT_EQ(object_.require_object("rope").require_string("factor"), "y");
  EXPECT_EQ(object_.find_int("size", 0), 12);
  EXPECT_EQ(object_.find_number("ratio"), 0.5);
  EXPECT_EQ(object_.find_bool("on"), true);
  EXPECT_EQ(*object_.find_string("text"), "x");
  EXPECT_EQ(object_.find_array("list")->size(), 2u);
  EXPECT_TRUE(object_.find_object("rope").has_value());
}

TEST_F(JsonObjectTest, TakesNullAsAbsent) {
  for (const char* key : {"none", "nowhere"}) {
    EXPECT_FALSE(object_.has(key));
    EXPECT_EQ(object_.find_int(key, 0), std::nullopt);
    EXPECT_EQ(object_.find_number(key), std::nullopt);
    EXPECT_EQ(object_.find_bool(key), std::nullopt);
    EXPECT_EQ(object_.find_string(key), nullptr);
    EXPECT_EQ(object_.find_array(key), nullptr);
    EXPECT_FALSE(object_.find_object(key).has_value());
  }
  EXPECT_EQ(refusal_of([](auto& o) { o.require_int("nowhere", 0); }), "config.json: \"nowhere\" is missing");
  EXPECT_EQ(refusal_of([](auto& o) { o.require_string("none"); }), "config.json: \"none\" must not be null");
}

TEST_F(JsonObjectTest, SaysWhatAValueMustBe) {
  EXPECT_EQ(refusal_of([](auto& o) { o.require_int("text", 1); }),
            "config.json: \"text\" must be a positive whole number, not \"x\"");
  EXPECT_EQ(refusal_of([](auto& o) { o.require_int("zero", 1); }),
            "config.json: \"zero\" must be a positive whole number, not 0");
  EXPECT_EQ(refusal_of([](auto& o) { o.find_int("minus", 0); }),
            "config.json: \"minus\" must be a whole number not below 0, not -3");
  EXPECT_EQ(refusal_of([](auto& o) { o.require_int("size", 1, 11); }),
            "config.json: \"size\" must be a whole number from 1 to 11, not 12");
  EXPECT_EQ(refusal_of([](auto& o) { o.require_int("huge", INT64_MIN); }),
            "config.json: \"huge\" must be a whole number, not 18446744073709551615");
  EXPECT_EQ(refusal_of([](auto& o) { o.require_int("whole", 1); }),
            "config.json: \"whole\" must be a positive whole number, not 2.0");
  EXPECT_EQ(refusal_of([](auto& o) { o.require_int("on", 0); }),
            "config.json: \"on\" must be a whole number not below 0, not true");
  EXPECT_EQ(refusal_of([](auto& o) { o.find_number("on"); }), "config.json: \"on\" must be a number, not true");
  EXPECT_EQ(refusal_of([](auto& o) { o.require_bool("zero"); }), "config.json: \"zero\" must be true or false, not 0");
  EXPECT_EQ(refusal_of([](auto& o) { o.find_string("list"); }), "config.json: \"list\" must be a string, not an array");
  EXPECT_EQ(refusal_of([](auto& o) { o.find_array("rope"); }), "config.json: \"rope\" must be an array, not an object");
  EXPECT_EQ(refusal_of([](auto& o) { o.find_object("size"); }), "config.json: \"size\" must be an object, not 12");
}

TEST_F(JsonObjectTest, NamesKeysOfInnerObjectsByTheirPath) {
  EXPECT_EQ(refusal_of([](auto& o) { o.require_object("rope").require_number("factor"); }),
            "config.json: \"rope.factor\" must be a number, not \"y\"");
  EXPECT_EQ(refusal_of([](auto& o) { o.require_object("rope").require_object("inner").require_int("n", 0); }),
            "config.json: \"rope.inner.n\" must be a whole number not below 0, not -1");
}

TEST(JsonObject, RefusesAnythingElseAtTheTop) {
  for (const char* text : {"[1]", "null", "3", "\"s\""}) {
    const json value = parse_json(text, "f");
    const std::string message = error_of<BadFile>([&] { JsonObject(value, "config.json"); });
    EXPECT_EQ(message.find("config.json: the file must be an object, not "), 0u) << message;
  }
}

}  // namespace
}  // namespace sightline::format
