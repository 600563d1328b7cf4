// Cases of tokenizers, most of which are given inline as tokenizer.json.
#include <fmt/format.h>

#include <algorithm>

#include "src/tokenizer/text_stream.h"
#include "tools/conform/encodings.h"
#include "tools/conform/reports.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
using tokenizer::EncodeOptions;
using tokenizer::Encoding;
using tokenizer::Tokenizer;

constexpr const char* kSpace = "\u2581";  // what SentencePiece writes for a space

std::string utf8(char32_t code) {  // below U+0800
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

Tokenizer parse(const json& tokenizer_json) { return Tokenizer::parse(tokenizer_json.dump(), "tokenizer.json"); }

Encoding encode(const Tokenizer& tokenizer, const std::string& text, bool add_special) {
  EncodeOptions options;
  options.add_special = add_special;
  options.parse_special = true;  // as the reference library does
  return tokenizer.encode(text, options);
}

void check_encodings(const Tokenizer& tokenizer, const json& encodings, bool add_special) {
  for (const json& row : encodings) {
    const std::string text = row.at("text");
    const Encoding encoding = encode(tokenizer, text, add_special);
    const std::string of = " of " + row.at("text").dump(-1, ' ', true);
    expect_equal("tokens" + of, pieces(encoding), row.at("tokens"));
    expect_equal("ids" + of, ids(encoding), row.at("ids"));
    if (row.contains("offsets_chars"))
      expect_equal("offsets" + of, offsets(encoding, text, ""), row.at("offsets_chars"));
  }
}

// The vocabulary of BERT base uncased is that of all-MiniLM-L6-v2.
void check_base_vocabulary(const Report& report) {
  const auto file = report.conformance / "tokenizers" / "wordpiece_minilm" / "tokenizer.json";
  if (!std::filesystem::exists(file)) throw Skipped("no tokenizers/wordpiece_minilm beside the cases");
  const Tokenizer tokenizer = Tokenizer::load(file);
  for (const auto& [text, expected] : report.expected.at("ids_with_bert_base_uncased_vocabulary").items()) {
    expect_equal("ids of " + json(text).dump(-1, ' ', true), ids(encode(tokenizer, text, false)), expected);
  }
}

// Nothing but white space or controls.
void check_empty_texts(const Report& report) {
  const Tokenizer tokenizer = parse(report.given.at("wordpiece"));
  const auto column = [&](bool add_special) {
    json tokens = json::array();
    for (const std::string text : report.given.at("texts"))
      tokens.push_back(pieces(encode(tokenizer, text, add_special)));
    return tokens;
  };
  expect_equal("wordpiece_with_special", column(true), report.expected.at("wordpiece_with_special"));
  expect_equal("wordpiece_without", column(false), report.expected.at("wordpiece_without"));
}

// Tokens are expected in Unicode normal form, with the normalizer of the file and without it.
void check_normal_forms(const Report& report) {
  json without = report.given.at("tokenizer_json");
  without["normalizer"] = nullptr;
  const Tokenizer with = parse(report.given.at("tokenizer_json")), plain = parse(without);
  for (std::size_t i = 0; i < report.given.at("texts").size(); ++i) {
    const std::string text = report.given.at("texts").at(i);
    expect_equal("tokens", pieces(encode(with, text, false)), report.expected.at("tokens").at(i));
    expect_equal("tokens_without_normalizer", pieces(encode(plain, text, false)),
                 report.expected.at("tokens_without_normalizer").at(i));
  }
}

void run_single(Context& context, const Report& report) {
  const bool add_special = report.given.value("add_special_tokens", true);
  context.recorder.run(report.name, [&] {
    const json& expected = report.expected;
    if (!expected.contains("encodings")) return check_normal_forms(report);
    check_encodings(parse(report.given.at("tokenizer_json")), expected.at("encodings"), add_special);
  });
  if (report.expected.contains("ids_with_bert_base_uncased_vocabulary")) {
    context.recorder.run(report.name + "/bert-base-uncased", [&] { check_base_vocabulary(report); });
  }
}

// The glyphs that stand for the 256 bytes. Bytes of printable Latin-1 stand for themselves, the others follow from
// U+0100 on (Radford et al. 2019).
std::vector<char32_t> byte_glyphs() {
  std::vector<char32_t> glyphs;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    glyphs.push_back(printable ? byte : next++);
  }
  return glyphs;
}

// They, sorted by code point, as a vocabulary without merges.
json byte_level_tokenizer(bool prefix_space) {
  std::vector<char32_t> glyphs = byte_glyphs();
  std::ranges::sort(glyphs);
  json vocabulary = json::object();
  for (const char32_t glyph : glyphs) vocabulary[utf8(glyph)] = vocabulary.size();
  const json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", prefix_space}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"added_tokens", json::array()},
          {"pre_tokenizer", byte_level},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}}};
}

void check_byte_level(const Report& report) {
  const Tokenizer tokenizer = parse(byte_level_tokenizer(false));
  check_encodings(tokenizer, report.expected.at("encodings"), true);
  for (const std::string text : report.expected.at("roundtrip")) {
    const auto encoded = ids(encode(tokenizer, text, true)).get<std::vector<std::int32_t>>();
    expect_equal("decoded", tokenizer.decode(encoded, false), text);
  }
}

void check_byte_level_empty_texts(const Report& report) {
  const Tokenizer tokenizer = parse(byte_level_tokenizer(true));
  json tokens = json::array();
  for (const std::string text : report.given.at("texts")) tokens.push_back(pieces(encode(tokenizer, text, true)));
  expect_equal("byte_level", tokens, report.expected.at("byte_level"));
}

json metaspace(const std::string& prepend_scheme) {
  return {{"type", "Metaspace"}, {"replacement", kSpace}, {"prepend_scheme", prepend_scheme}, {"split", true}};
}

json unigram_tokenizer(const json& vocabulary, const std::string& prepend_scheme, bool byte_fallback) {
  const json fallback = {{"type", "ByteFallback"}};
  return {{"added_tokens", json::array()},
          {"pre_tokenizer", metaspace(prepend_scheme)},
          {"decoder", {{"type", "Sequence"}, {"decoders", {fallback, metaspace(prepend_scheme)}}}},
          {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}, {"byte_fallback", byte_fallback}}}};
}

// The vocabulary that the recipe of R7-10 tells in words: <unk>, the bytes, then the pieces that it lists.
json byte_fallback_vocabulary(const std::string& recipe) {
  json vocabulary = json::array();
  const auto add = [&](const std::string& piece, double score) { vocabulary.push_back(json::array({piece, score})); };
  add("<unk>", 0);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), -20);
  for (const json& piece : json::parse(recipe.substr(recipe.find("[[")))) vocabulary.push_back(piece);
  return vocabulary;
}

void check_unigram_fallback(const Report& report) {
  const json vocabulary = byte_fallback_vocabulary(report.given.at("vocab_recipe"));
  const Tokenizer with = parse(unigram_tokenizer(vocabulary, "always", true)),
                  without = parse(unigram_tokenizer(vocabulary, "always", false));
  check_encodings(with, json::array({report.expected.at("with_fallback")}), true);
  const std::string text = report.given.at("texts").at(0);
  expect_equal("without_byte_pieces", pieces(encode(without, text, true)), report.expected.at("without_byte_pieces"));
  json decoded = json::array();
  for (const json& row : report.given.at("decode_ids"))
    decoded.push_back(with.decode(row.get<std::vector<std::int32_t>>(), false));
  expect_equal("decoded", decoded, report.expected.at("decoded"));
}

// One way to prepend a space, in the pre-tokenizer and in the decoder.
void check_prepend_scheme(const Report& report, const std::string& scheme) {
  json file = unigram_tokenizer(report.given.at("vocab"), scheme, false);
  file["decoder"] = metaspace(scheme);
  for (const std::string content : report.given.at("special_tokens")) {
    file["added_tokens"].push_back({{"id", 1},
                                    {"content", content},
                                    {"special", true},
                                    {"normalized", false},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false}});
  }
  const Tokenizer tokenizer = parse(file);
  for (const json& row : report.expected.at("results").at(scheme)) {
    const Encoding encoding = encode(tokenizer, row.at("text"), true);
    const std::string of = " of " + row.at("text").dump();
    expect_equal("tokens" + of, pieces(encoding), row.at("tokens"));
    const auto encoded = ids(encoding).get<std::vector<std::int32_t>>();
    expect_equal("decoded" + of, tokenizer.decode(encoded, false), row.at("decoded"));
  }
}

void run_prepend_schemes(Context& context, const Report& report) {
  for (const std::string scheme : {"always", "first", "never"}) {
    context.recorder.run(report.name + "/" + scheme, [&] { check_prepend_scheme(report, scheme); });
  }
}

void run_tokenize(Context& context, const Report& report) {
  auto& recorder = context.recorder;
  const json& given = report.given;
  if (given.contains("tokenizer_json")) return run_single(context, report);
  if (given.contains("tokenizers")) {
    for (std::size_t i = 0; i < given.at("tokenizers").size(); ++i) {
      recorder.run(fmt::format("{}/{}", report.name, i), [&] {
        const Tokenizer tokenizer = parse(given.at("tokenizers").at(i).at("tokenizer_json"));
        check_encodings(tokenizer, report.expected.at("encodings").at(i), true);
      });
    }
  } else if (given.contains("wordpiece")) {
    recorder.run(report.name + "/wordpiece", [&] { check_empty_texts(report); });
    recorder.run(report.name + "/byte_level", [&] { check_byte_level_empty_texts(report); });
  } else if (given.contains("vocab_recipe")) {
    recorder.run(report.name, [&] { check_unigram_fallback(report); });
  } else {
    recorder.run(report.name, [&] { check_byte_level(report); });
  }
}

// Padding and truncation of the file are reported, and do nothing by themselves.
void run_file_padding(const Report& report) {
  const json& file = report.given.at("tokenizer_json");
  const Tokenizer tokenizer = parse(file);
  const Encoding encoding = tokenizer.encode(report.given.at("text").get<std::string>());
  expect_equal("tokens", pieces(encoding), report.expected.at("default").at("tokens"));
  expect_equal("ids", ids(encoding), report.expected.at("default").at("ids"));
  expect(tokenizer.file_padding() == file.at("padding").at("strategy").at("Fixed").get<std::size_t>(),
         "the file's padding is not reported");
  expect(tokenizer.file_truncation() == file.at("truncation").at("max_length").get<std::size_t>(),
         "the file's truncation is not reported");
}

// Tokens of a byte each, as they come.
void run_stream(const Report& report) {
  const Tokenizer tokenizer = parse(byte_level_tokenizer(false));
  const std::vector<char32_t> glyphs = byte_glyphs();
  json all = json::array(), rest = json::array();
  for (const json& text : report.given.at("token_bytes_hex")) {
    tokenizer::TextStream stream(tokenizer);
    json& parts = all.emplace_back(json::array());
    for (const std::string byte : text) {
      const auto value = static_cast<std::size_t>(std::stoi(byte, nullptr, 16));
      parts.push_back(stream.add(tokenizer.id_of(utf8(glyphs.at(value))).value()));
    }
    rest.push_back(stream.finish());
  }
  expect_equal("pieces", all, report.expected.at("pieces"));
  expect_equal("flush", rest, report.expected.at("flush"));
}

constexpr ReportKind kKinds[] = {
    {"tokenize", nullptr, nullptr, run_tokenize},
    {"tokenize_matrix", nullptr, nullptr, run_prepend_schemes},
    {"tokenize_then_attend", nullptr, run_file_padding},
    {"stream_decode", nullptr, run_stream},
};

}  // namespace

std::span<const ReportKind> tokenizer_kinds() { return kKinds; }

}  // namespace sightline::conform
