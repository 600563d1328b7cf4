#include "src/model/end_tokens.h"

#include <algorithm>
#include <optional>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/gguf.h"
#include "src/format/json.h"

namespace sightline::model {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr char kKey[] = "eos_token_id";

Ids ids_in(const std::filesystem::path& file) {
  const nlohmann::json json = format::read_json(file);
  const format::JsonObject object(json, file.string());
  if (!object.has(kKey)) return {};
  const nlohmann::json& value = json.at(kKey);
  Ids ids;
  for (const nlohmann::json& item : value.is_array() ? value : nlohmann::json::array({value})) {
    const bool whole = item.is_number_integer() && item >= -1 && item <= INT32_MAX;
    if (!whole) throw BadFile(object.where(kKey) + " must be a token's id, or a list of such");
    if (item >= 0) ids.push_back(item.get<std::int32_t>());  // -1 is written for none
  }
  return ids;
}

Ids ids_of_directory(const std::filesystem::path& directory) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (!format::is_present(directory / name)) continue;
    if (Ids ids = ids_in(directory / name); !ids.empty()) return ids;
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

}  // namespace

Ids end_tokens(const std::filesystem::path& model) {
  Ids ids = format::is_gguf(model) ? ids_of_gguf(model) : ids_of_directory(model);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace sightline::model
