#include "src/tokenizer/stage.h"

#include "sightline/error.h"

namespace sightline::tokenizer {

void refuse_type(const JsonObject& json, std::string_view type) {
  throw UnsupportedModel(json.where("type") + " is " + format::quote(type) + ", which is not supported");
}

void refuse_unknown_settings(const JsonObject& json, std::span<const std::string_view> known) {
  for (const auto& [key, value] : json.value().items()) {
    const bool is_known = key == "type" || std::find(known.begin(), known.end(), key) != known.end();
    if (!is_known && !value.is_null()) throw UnsupportedModel(json.where(key) + " is a setting that is not supported");
  }
}

std::vector<JsonObject> require_objects(const JsonObject& json, std::string_view key) {
  std::vector<JsonObject> objects;
  for (const nlohmann::json& element : json.require_array(key)) {
    objects.emplace_back(element, json.name(), std::string(key) + "[" + std::to_string(objects.size()) + "]");
  }
  return objects;
}

}  // namespace sightline::tokenizer
