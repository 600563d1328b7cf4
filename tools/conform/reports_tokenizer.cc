// Cases of tokenizers, most of which are given inline as tokenizer.json.
#include <fmt/format.h>

#include "tools/conform/encodings.h"
#include "tools/conform/reports.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
using tokenizer::EncodeOptions;
using tokenizer::Encoding;
using tokenizer::Tokenizer;

constexpr const char* kNoByteLevel = "byte-level tokenizers are not supported yet";

Tokenizer parse(const json& tokenizer_json) { return Tokenizer::parse(tokenizer_json.dump(), "tokenizer.json"); }

Encoding encode(const Tokenizer& tokenizer, const std::string& text, bool add_special) {
  EncodeOptions options;
  options.add_special = add_special;
  options.parse_special = true;  // as the reference did
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
    recorder.run(report.name + "/byte_level", [] { throw Skipped(kNoByteLevel); });
  } else {  // a recipe in words
    const bool unigram = given.value("model", "") == "Unigram";
    recorder.run(report.name,
                 [&] { throw Skipped(unigram ? "Unigram tokenizers are not supported yet" : kNoByteLevel); });
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

constexpr ReportKind kKinds[] = {
    {"tokenize", nullptr, nullptr, run_tokenize},
    {"tokenize_then_attend", nullptr, run_file_padding},
};

}  // namespace

std::span<const ReportKind> tokenizer_kinds() { return kKinds; }

}  // namespace sightline::conform
