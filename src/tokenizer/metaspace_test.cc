#include "src/tokenizer/metaspace.h"

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Texts = std::vector<std::string>;

Json metaspace(const Json& more = Json::object()) {
  Json json = {{"type", "Metaspace"}, {"replacement", "▁"}};
  json.update(more);
  return json;
}

PreTokenizedString marked(const Json& json, const std::string& utf8) {
  const NormalizedString chars(utf8);
  PreTokenizedString text{chars.chars(), {{0, chars.chars().size(), {}}}};
  make_pre_tokenizer(JsonObject(json, "tokenizer.json", "pre_tokenizer"))(text);
  return text;
}

Texts texts_of(const PreTokenizedString& text) {
  Texts texts;
  for (const Split& s : text.splits) texts.push_back(to_utf8(CharSpan(text.chars).subspan(s.begin, s.end - s.begin)));
  return texts;
}

std::string decoded(const Json& json, std::vector<std::string> pieces) {
  make_decoder(JsonObject(json, "tokenizer.json", "decoder"))(pieces);
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

// The Hugging Face library's own examples.
TEST(Metaspace, CutsBeforeEveryMark) {
  const PreTokenizedString text = marked(metaspace(), "Hey   friend!");
  EXPECT_EQ(texts_of(text), (Texts{"▁Hey", "▁", "▁", "▁friend!"}));
  EXPECT_EQ(places_of(text.chars)[0], (std::pair<std::size_t, std::size_t>{0, 1}));  // the mark stands for the H
  EXPECT_EQ(places_of(text.chars)[4], (std::pair<std::size_t, std::size_t>{3, 4}));
  EXPECT_EQ(texts_of(marked(metaspace({{"split", false}}), "Hey my friend")), Texts{"▁Hey▁my▁friend"});
}

TEST(Metaspace, PrependsAsTheSchemeSays) {
  const auto scheme = [](const char* name) { return metaspace({{"prepend_scheme", name}}); };
  EXPECT_EQ(texts_of(marked(scheme("always"), "a b")), (Texts{"▁a", "▁b"}));
  EXPECT_EQ(texts_of(marked(scheme("always"), " a")), Texts{"▁a"});
  EXPECT_EQ(texts_of(marked(scheme("never"), "a b")), (Texts{"a", "▁b"}));
  EXPECT_EQ(texts_of(marked(scheme("first"), "a b")), (Texts{"▁a", "▁b"}));
  PreTokenizedString two{NormalizedString("ab").chars(), {{0, 1, {}}, {1, 2, {}}}};
  make_pre_tokenizer(JsonObject(scheme("first"), "tokenizer.json", "pre_tokenizer"))(two);
  EXPECT_EQ(texts_of(two), (Texts{"▁a", "b"}));
}

// Files older than "prepend_scheme".
TEST(Metaspace, ReadsTheLegacySetting) {
  EXPECT_EQ(texts_of(marked(metaspace({{"add_prefix_space", true}, {"str_rep", "▁"}}), "a")), Texts{"▁a"});
  EXPECT_EQ(texts_of(marked(metaspace({{"add_prefix_space", false}}), "a")), Texts{"a"});
  EXPECT_EQ(decoded(metaspace({{"add_prefix_space", false}}), {"▁a"}), " a");
}

TEST(Metaspace, LeavesAddedTokensAlone) {
  PreTokenizedString text{NormalizedString("a <s> b").chars(), {{0, 2, {}}, {2, 5, 7}, {5, 7, {}}}};
  make_pre_tokenizer(JsonObject(metaspace(), "tokenizer.json", "pre_tokenizer"))(text);
  EXPECT_EQ(texts_of(text), (Texts{"▁a", "▁", "<s>", "▁b"}));
  EXPECT_EQ(text.splits[2].added_token, 7);
}

TEST(Metaspace, DecodesMarksToSpaces) {
  EXPECT_EQ(decoded(metaspace(), {"▁Hey", "▁friend!"}), "Hey friend!");
  EXPECT_EQ(decoded(metaspace({{"prepend_scheme", "never"}}), {"▁Hey", "▁friend!"}), " Hey friend!");
  EXPECT_EQ(decoded(metaspace(), {"▁▁", "▁a▁b"}), " a b");
}

TEST(Metaspace, RefusesWhatItCannotDo) {
  const auto make = [](const Json& json) { make_metaspace(JsonObject(json, "tokenizer.json", "pre_tokenizer")); };
  EXPECT_EQ(error_of<BadFile>([&] {
              make(metaspace({{"replacement", "ab"}}));
            }),
            R"(tokenizer.json: "pre_tokenizer.replacement" must be one character)");
  EXPECT_EQ(
      error_of<UnsupportedModel>([&] {
        make(metaspace({{"prepend_scheme", "last"}}));
      }),
      R"(tokenizer.json: "pre_tokenizer.prepend_scheme" is "last", which is not supported; always, first and never are)");
  EXPECT_EQ(error_of<BadFile>([&] {
              make(metaspace({{"prepend_scheme", "first"}, {"add_prefix_space", false}}));
            }),
            R"(tokenizer.json: "pre_tokenizer.prepend_scheme" is "first", but "add_prefix_space" is false)");
}

}  // namespace
}  // namespace sightline::tokenizer
