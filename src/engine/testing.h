#ifndef SIGHTLINE_ENGINE_TESTING_H_
#define SIGHTLINE_ENGINE_TESTING_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/engine/session.h"
#include "src/format/file.h"
#include "src/format/safetensors.h"

namespace sightline::engine::testing {

inline constexpr char kTired[] = "The animal didn't cross the street because it was too tired.";
inline constexpr char kWide[] = "The animal didn't cross the street because it was too wide.";

inline std::filesystem::path source_path(const std::string& relative) {
  return std::filesystem::path(SIGHTLINE_SOURCE_DIR) / relative;
}

/// A place of this process's own: tests run beside one another.
inline std::filesystem::path temporary_path(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("sightline-engine-" + std::to_string(::getpid()) + "-" + name);
}

/// A random BERT: 2 layers, 3 heads, D 8, 48 positions (tools/make_tiny_model.py).
inline std::filesystem::path tiny_model() { return source_path("tests/data/tiny-bert"); }

/// Writes the tiny model into a new directory with `positions` (over 48) positions; those added are all zero.
inline void write_long_model(const std::filesystem::path& directory, std::int64_t positions) {
  std::filesystem::copy(tiny_model(), directory);
  const std::filesystem::path config = directory / "config.json";
  std::string text = format::read_file(config, 1 << 20);
  const std::string_view limit = "\"max_position_embeddings\": 48";
  text.replace(text.find(limit), limit.size(), "\"max_position_embeddings\": " + std::to_string(positions));
  std::ofstream(config) << text;

  const auto model = format::SafetensorsFile::open(tiny_model() / "model.safetensors");
  auto tensors = model.tensors();
  format::Tensor& table = tensors.at("embeddings.position_embeddings.weight");
  table.shape[0] = positions;
  std::vector<std::byte> longer(table.bytes.begin(), table.bytes.end());
  longer.resize(longer.size() / 48 * static_cast<std::size_t>(positions));
  table.bytes = longer;
  format::SafetensorsWriter file(directory / "model.safetensors");
  for (const auto& [name, tensor] : tensors) file.declare(name, tensor.dtype, tensor.shape);
  for (const auto& [name, tensor] : tensors) file.write(name, tensor.bytes);
  file.finish();
}

/// Writes one of the random decoders of tests/data, which have no tokenizer, into a new directory, with one whose
/// tokens are words and letters. `bos`: it puts a special token before a text. `positions`: the longest text, 0 for the
/// model's own; models with ropes alone take more.
inline void write_decoder(const std::filesystem::path& directory, const std::string& model, bool bos,
                          std::int64_t positions = 0) {
  std::filesystem::copy(source_path("tests/data/conformance/models/" + model), directory);
  nlohmann::json vocabulary = {{"[UNK]", 0}, {"[BOS]", 1}};
  const auto add = [&vocabulary](const std::string& piece) { vocabulary.emplace(piece, vocabulary.size()); };
  for (const char* piece : {"the", "animal", "didn", "cross", "street", "because", "it", "was", "too", "tired", "cat",
                            "sat", "on", "mat", "'", ".", ","}) {
    add(piece);
  }
  for (char c = 'a'; c <= 'z'; ++c) {
    add(std::string(1, c));
    add(std::string("##") + c);
  }
  using Json = nlohmann::json;
  Json single = Json::array();
  if (bos) single.push_back(Json::object({{"SpecialToken", {{"id", "[BOS]"}, {"type_id", 0}}}}));
  single.push_back(Json::object({{"Sequence", {{"id", "A"}, {"type_id", 0}}}}));
  const nlohmann::json tokenizer = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens",
       {{{"id", 1},
         {"content", "[BOS]"},
         {"single_word", false},
         {"lstrip", false},
         {"rstrip", false},
         {"normalized", false},
         {"special", true}}}},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", true},
        {"handle_chinese_chars", true},
        {"strip_accents", nullptr},
        {"lowercase", true}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", single},
        {"pair", single},
        {"special_tokens", {{"[BOS]", {{"id", "[BOS]"}, {"ids", {1}}, {"tokens", {"[BOS]"}}}}}}}},
      {"decoder", nullptr},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", "[UNK]"},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 100},
        {"vocab", vocabulary}}}};
  std::ofstream(directory / "tokenizer.json") << tokenizer;
  if (positions == 0) return;
  auto config = nlohmann::json::parse(format::read_file(directory / "config.json", 1 << 20));
  config["max_position_embeddings"] = positions;
  std::filesystem::permissions(directory / "config.json", std::filesystem::perms::owner_all);
  std::ofstream(directory / "config.json") << config;
}

/// Where all-MiniLM-L6-v2 is, or should be.
inline std::filesystem::path minilm() {
  const char* named = std::getenv("SIGHTLINE_MINILM");
  return named ? std::filesystem::path(named) : default_model_directory();
}
inline bool has_minilm() { return std::filesystem::exists(minilm() / "model.safetensors"); }
inline std::string no_minilm() { return "all-MiniLM-L6-v2 is not in " + minilm().string(); }

}  // namespace sightline::engine::testing

#endif  // SIGHTLINE_ENGINE_TESTING_H_
