#include "src/model/end_tokens.h"

#include <algorithm>
#include <optional>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/gguf.h"
#include "src/tokenizer/end_pieces.h"
#include "src/tokenizer/tokenizer_config.h"

namespace sightline::model {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr char kKey[] = "eos_token_id";

Ids ids_of_directory(const std::filesystem::path& directory) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::filesystem::path file = directory / name;
    if (!format::is_present(file)) continue;
    const nlohmann::json json = format::read_json(file);
    if (Ids ids = named_end_tokens(format::JsonObject(json, file.string())); !ids.empty()) return ids;
  }
  return {};
}

Ids ids_of_gguf(const std::filesystem::path& path) {
  const format::GgufFile file = format::GgufFile::open(path);
  Ids ids;
  for (const char* name : {"eos", "eot", "eom"}) {
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    const std::optional<std::int64_t> id = file.metadata().find_int(key, -1, UINT32_MAX);  // either end is "none"
    if (id && *id >= 0 && *id <= INT32_MAX) ids.push_back(static_cast<std::int32_t>(*id));
  }
  return ids;
}

Ids ids_of_spelling(const tokenizer::Tokenizer& tokenizer) {
  const auto special = [&](std::string_view piece) {
    const std::optional<std::int32_t> id = tokenizer.id_of(piece);
    return id && tokenizer.is_special(*id) ? id : std::nullopt;
  };
  const bool messages_end_within = special(tokenizer::kHarmonyReturn) && special(tokenizer::kHarmonyCall);
  Ids ids;
  for (const std::string_view piece : tokenizer::end_pieces()) {
    if (messages_end_within && piece == tokenizer::kMessageEnd) continue;
    if (const auto id = special(piece)) ids.push_back(*id);
  }
  return ids;
}

// "eos_token" of tokenizer_config.json, which chat models set to the end of a turn.
std::optional<std::int32_t> id_of_tokenizer(const std::filesystem::path& directory,
                                            const tokenizer::Tokenizer& tokenizer) {
  const std::filesystem::path file = directory / "tokenizer_config.json";
  if (!format::is_present(file)) return std::nullopt;
  const nlohmann::json json = format::read_json(file);
  const auto piece = tokenizer::config_token(format::JsonObject(json, file.string()), "eos_token");
  return piece ? tokenizer.id_of(*piece) : std::nullopt;
}

void append(Ids& ids, const Ids& more) { ids.insert(ids.end(), more.begin(), more.end()); }

}  // namespace

Ids named_end_tokens(const format::JsonObject& config) {
  if (!config.has(kKey)) return {};
  const nlohmann::json& value = config.value().at(kKey);
  Ids ids;
  for (const nlohmann::json& item : value.is_array() ? value : nlohmann::json::array({value})) {
    const bool whole = item.is_number_integer() && item >= -1 && item <= INT32_MAX;
    if (!whole) throw BadFile(config.where(kKey) + " must be a token's id, or a list of such");
    if (item >= 0) ids.push_back(item.get<std::int32_t>());  // -1 is written for none
  }
  return ids;
}

Ids end_tokens(const std::filesystem::path& model, const tokenizer::Tokenizer& tokenizer) {
  const bool gguf = format::is_gguf(model);
  Ids ids = gguf ? ids_of_gguf(model) : ids_of_directory(model);
  append(ids, ids_of_spelling(tokenizer));
  if (!gguf) {
    if (const auto id = id_of_tokenizer(model, tokenizer)) ids.push_back(*id);
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace sightline::model
