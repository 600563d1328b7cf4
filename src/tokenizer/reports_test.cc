#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "src/tokenizer/normalizer.h"
#include "src/tokenizer/testing.h"

// Faults that were reported of other tokenizers (family 7 of the cases), and llama.cpp's test strings.
namespace sightline::tokenizer {
namespace {

const std::filesystem::path kRoot = SIGHTLINE_SOURCE_DIR;

Json read_report(const std::string& id) {
  std::ifstream file(kRoot / "tests/data/cases/reports.jsonl");
  for (std::string line; std::getline(file, line);) {
    Json report = Json::parse(line);
    if (report["id"] == id) return report;
  }
  throw std::runtime_error("no report " + id);
}

void expect_encodings(const Tokenizer& tokenizer, const Json& expected, bool add_special) {
  ASSERT_FALSE(expected.empty());
  for (const Json& encoding : expected) {
    const std::string text = encoding["text"];
    SCOPED_TRACE(encoding["text"].dump());
    const Encoding got = tokenizer.encode(text, {.add_special = add_special, .parse_special = true});
    EXPECT_EQ(encoding["tokens"], Json(pieces_of(got)));
    EXPECT_EQ(encoding["ids"], Json(ids_of(got)));
    EXPECT_EQ(encoding["offsets_chars"], Json(char_offsets(got, text)));
  }
}

class WordPieceReport : public testing::TestWithParam<const char*> {};

// R7-01 accents, R7-03 characters that vanish, R7-05 words of which a part is unknown.
TEST_P(WordPieceReport, IsRight) {
  const Json report = read_report(GetParam());
  expect_encodings(parse(report["case"]["tokenizer_json"]), report["expected"]["encodings"],
                   report["case"]["add_special_tokens"]);
}

INSTANTIATE_TEST_SUITE_P(Family7, WordPieceReport, testing::Values("R7-01", "R7-03", "R7-05"));

TEST(Report, R7_01_WithTheVocabularyOfBert) {
  const Tokenizer tokenizer =
      Tokenizer::load(kRoot / "tests/data/conformance/tokenizers/wordpiece_minilm/tokenizer.json");
  const Json expected = read_report("R7-01")["expected"]["ids_with_bert_base_uncased_vocabulary"];
  ASSERT_EQ(expected.size(), 5u);
  for (const auto& [text, ids] : expected.items()) {
    EXPECT_EQ(Json(ids_of(tokenizer.encode(text, {.add_special = false}))), ids) << text;
  }
}

TEST(Report, R7_07_MergesByRank) {
  const Json report = read_report("R7-07");
  const Json& tokenizers = report["case"]["tokenizers"];
  ASSERT_EQ(tokenizers.size(), 2u);
  for (std::size_t i = 0; i < tokenizers.size(); ++i) {
    expect_encodings(parse(tokenizers[i]["tokenizer_json"]), report["expected"]["encodings"][i], true);
  }
}

// The vocabulary that the cases tell in words: the glyphs of all bytes by code point, without merges.
Json glyph_file() {
  std::set<char32_t> glyphs;  // printable bytes are their own; U+0100 to U+0143 stand for the others
  for (char32_t c = 0x21; c < 0x144; ++c) {
    const bool is_glyph = c <= 0x7E || (c >= 0xA1 && c != 0xAD);
    if (is_glyph) glyphs.insert(c);
  }
  Json file = wordpiece_file({});
  Json vocab = Json::object();
  for (const char32_t glyph : glyphs) {
    std::string piece;
    append_utf8(glyph, piece);
    vocab[piece] = vocab.size();
  }
  file["model"] = {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}};
  file["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  file["decoder"] = file["pre_tokenizer"];
  return file;
}

TEST(Report, R7_08_BytesAreNoCharacters) {
  const Json report = read_report("R7-08");
  const Tokenizer tokenizer = parse(glyph_file());
  ASSERT_EQ(tokenizer.vocabulary_size(), 256u);
  const Json& encodings = report["expected"]["encodings"];
  ASSERT_EQ(encodings.size(), 6u);
  for (const Json& expected : encodings) {
    const std::string text = expected["text"];
    const Encoding encoding = tokenizer.encode(text);
    EXPECT_EQ(expected["tokens"], Json(pieces_of(encoding)));
    EXPECT_EQ(expected["ids"], Json(ids_of(encoding)));
    EXPECT_EQ(tokenizer.decode(ids_of(encoding), false), text);
  }
}

TEST(Report, R7_14_AddedTokensBesideText) {
  const Json report = read_report("R7-14");
  expect_encodings(parse(report["case"]["tokenizer_json"]), report["expected"]["encodings"], true);
}

TEST(Report, R7_16_TextWithoutWords) {
  const Json report = read_report("R7-16");
  const Tokenizer tokenizer = parse(report["case"]["wordpiece"]);
  const Json& texts = report["case"]["texts"];
  ASSERT_EQ(texts.size(), 4u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    EXPECT_EQ(report["expected"]["wordpiece_with_special"][i], Json(pieces_of(tokenizer.encode(text))));
    EXPECT_EQ(report["expected"]["wordpiece_without"][i],
              Json(pieces_of(tokenizer.encode(text, {.add_special = false}))));
  }
  Json byte_level = glyph_file();
  byte_level["pre_tokenizer"]["add_prefix_space"] = true;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    EXPECT_EQ(report["expected"]["byte_level"][i], Json(pieces_of(parse(byte_level).encode(text))));
  }
}

TEST(Report, R7_17_PaddingAndTruncationOfTheFileDoNotAct) {
  const Json report = read_report("R7-17");
  const Tokenizer tokenizer = parse(report["case"]["tokenizer_json"]);
  const Encoding encoding = tokenizer.encode(report["case"]["text"].get<std::string>());
  EXPECT_EQ(report["expected"]["default"]["tokens"], Json(pieces_of(encoding)));
  EXPECT_EQ(report["expected"]["default"]["ids"], Json(ids_of(encoding)));
  EXPECT_EQ(tokenizer.file_padding(), 8u);
  EXPECT_EQ(tokenizer.file_truncation(), 8u);
  EXPECT_EQ(tokenizer.encode("hello world hello world hello world hello").tokens.size(), 9u);
}

TEST(Report, R7_18_NormalForms) {
  const Json report = read_report("R7-18");
  const Json& json = report["case"]["tokenizer_json"]["normalizer"];
  const Normalizer normalizer = make_normalizer(JsonObject(json, "tokenizer.json", "normalizer"));
  const Json& texts = report["case"]["texts"];
  ASSERT_EQ(texts.size(), 6u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    NormalizedString text(texts[i].get<std::string>());
    normalizer(text);
    EXPECT_EQ(report["expected"]["nfc_strings"][i], to_utf8(text.chars()));
  }
  Json file = report["case"]["tokenizer_json"];
  const Tokenizer with = parse(file);
  file["normalizer"] = nullptr;
  const Tokenizer without = parse(file);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    EXPECT_EQ(report["expected"]["tokens"][i], Json(pieces_of(with.encode(text))));
    EXPECT_EQ(report["expected"]["tokens_without_normalizer"][i], Json(pieces_of(without.encode(text))));
  }
}

// A Unigram tokenizer between the marks of Metaspace.
Json marked_unigram(const Json& vocab, const Json& metaspace, bool byte_fallback) {
  Json file = wordpiece_file({});
  file["pre_tokenizer"] = metaspace;
  file["decoder"] = {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, metaspace}}};
  file["model"] = {{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", byte_fallback}, {"vocab", vocab}};
  return file;
}

Json metaspace(const std::string& scheme) {
  return {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", true}};
}

TEST(Report, R7_10_BytesOfUnknownCharacters) {
  const Json report = read_report("R7-10");
  Json vocab = Json::array({Json::array({"<unk>", 0.0})});
  for (int byte = 0; byte < 256; ++byte) vocab.push_back(Json::array({fmt::format("<0x{:02X}>", byte), -20.0}));
  const std::string recipe = report["case"]["vocab_recipe"];
  for (const Json& entry : Json::parse(recipe.substr(recipe.find("[[")))) vocab.push_back(entry);
  const Tokenizer tokenizer = parse(marked_unigram(vocab, metaspace("always"), true));
  expect_encodings(tokenizer, Json::array({report["expected"]["with_fallback"]}), true);
  const Json& ids = report["case"]["decode_ids"];
  ASSERT_EQ(ids.size(), 2u);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(report["expected"]["decoded"][i], tokenizer.decode(ids[i].get<std::vector<std::int32_t>>(), true));
  }
  vocab.erase(vocab.begin() + 1, vocab.begin() + 257);
  const std::string text = report["case"]["texts"][0];
  EXPECT_EQ(report["expected"]["without_byte_pieces"],
            Json(pieces_of(parse(marked_unigram(vocab, metaspace("always"), true)).encode(text))));
}

TEST(Report, R7_11_SpacesBeforeTextAfterSpecialTokens) {
  const Json report = read_report("R7-11");
  const Json& results = report["expected"]["results"];
  ASSERT_EQ(results.size(), 3u);
  for (const auto& [scheme, cases] : results.items()) {
    Json file = marked_unigram(report["case"]["vocab"], metaspace(scheme), false);
    file["added_tokens"] = {{{"id", 1},
                             {"content", "<s>"},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false},
                             {"special", true}}};
    file["decoder"] = metaspace(scheme);
    const Tokenizer tokenizer = parse(file);
    ASSERT_EQ(cases.size(), 7u);
    for (const Json& expected : cases) {
      const Encoding encoding = tokenizer.encode(expected["text"].get<std::string>(), {.parse_special = true});
      EXPECT_EQ(expected["tokens"], Json(pieces_of(encoding))) << scheme << expected["text"];
      EXPECT_EQ(expected["decoded"], tokenizer.decode(ids_of(encoding), false)) << scheme << expected["text"];
    }
  }
}

// The vocabulary of bge is that of MiniLM; llama.cpp's strings come with the ids of the Hugging Face tokenizer.
TEST(LlamaCpp, TestStringsOfBertBge) {
  const std::filesystem::path folder = kRoot / "../shared/data/tokenizers/llama.cpp-vocab";
  std::ifstream input(folder / "ggml-vocab-bert-bge.gguf.inp", std::ios::binary);
  std::ifstream output(folder / "ggml-vocab-bert-bge.gguf.out");
  if (!input || !output) GTEST_SKIP() << folder << " is not there";
  const Tokenizer tokenizer =
      Tokenizer::load(kRoot / "tests/data/conformance/tokenizers/wordpiece_minilm/tokenizer.json");
  const std::string texts{std::istreambuf_iterator<char>(input), {}};
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::size_t count = 0;
  for (std::size_t begin = 0, end; begin <= texts.size(); begin = end + separator.size(), ++count) {
    end = std::min(texts.find(separator, begin), texts.size());
    std::string ids, line;
    for (const std::int32_t id : ids_of(tokenizer.encode(texts.substr(begin, end - begin), {.add_special = false}))) {
      ids += " " + std::to_string(id);
    }
    std::getline(output, line);
    EXPECT_EQ(ids, line) << "string " << count;
  }
  EXPECT_EQ(count, 47u);
}

}  // namespace
}  // namespace sightline::tokenizer
