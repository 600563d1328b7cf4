// tokenizers/index.json: tokenizer.json files with encodings, one JSON object a line.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "src/format/file.h"
#include "src/format/json.h"
#include "tools/conform/encodings.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using tokenizer::EncodeOptions;
using tokenizer::Encoding;
using tokenizer::Tokenizer;

EncodeOptions truncation(const json& row) {
  EncodeOptions options;
  options.parse_special = true;  // as the reference did
  if (!row.contains("max_length")) return options;
  options.max_length = row.at("max_length").get<std::size_t>();
  options.cut = row.at("direction") == "left" ? EncodeOptions::Side::left : EncodeOptions::Side::right;
  return options;
}

void check_row(const Tokenizer& tokenizer, const json& row) {
  const std::string text = row.at("text");
  std::optional<std::string> pair;
  if (row.contains("pair")) pair = row.at("pair").get<std::string>();
  const Encoding encoding = tokenizer.encode(text, pair, truncation(row));
  expect_equal("tokens", pieces(encoding), row.at("tokens"));
  expect_equal("ids", ids(encoding), row.at("ids"));
  expect_equal("offsets", offsets(encoding, text, pair.value_or("")), row.at("offsets"));
  expect_equal("special", special_mask(encoding), row.at("special"));
  const json zeros(std::vector<int>(encoding.tokens.size(), 0));
  expect_equal("type_ids", type_ids(encoding), row.value("type_ids", zeros));
  if (row.contains("ids_plain")) {
    EncodeOptions plain;
    plain.add_special = false;
    plain.parse_special = true;
    expect_equal("ids_plain", ids(tokenizer.encode(text, plain)), row.at("ids_plain"));
  }
  const std::vector<std::int32_t> all = row.at("ids");
  if (row.contains("decoded")) expect_equal("decoded", tokenizer.decode(all, false), row.at("decoded"));
  if (row.contains("decoded_skip")) expect_equal("decoded_skip", tokenizer.decode(all, true), row.at("decoded_skip"));
}

void run_rows(Context& context, const Tokenizer& tokenizer, const fs::path& file, const std::string& prefix) {
  const std::string content = format::read_file(file, std::size_t{64} << 20);
  std::size_t line_number = 0, begin = 0;
  while (begin < content.size()) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const std::string name = fmt::format("{}/{}:{}", prefix, file.filename().string(), ++line_number);
    context.recorder.run(name, [&] {
      check_row(tokenizer, format::parse_json(std::string_view(content).substr(begin, end - begin), name));
    });
    begin = end + 1;
  }
}

}  // namespace

void run_tokenizers(Context& context, const fs::path& index, const std::string& prefix) {
  const json tokenizers = format::read_json(index).at("tokenizers");
  for (const json& entry : tokenizers) {
    const std::string name = entry.at("name"), full_name = prefix + "/" + name;
    const fs::path directory = index.parent_path() / name;
    std::optional<Tokenizer> tokenizer;
    context.recorder.run(full_name + "/load", [&] { tokenizer = Tokenizer::load(directory / "tokenizer.json"); });
    if (!tokenizer && !context.recorder.listing()) continue;
    for (const char* file : {"cases.jsonl", "pairs.jsonl", "truncated.jsonl"}) {
      run_rows(context, *tokenizer, directory / file, full_name);
    }
  }
}

}  // namespace sightline::conform
