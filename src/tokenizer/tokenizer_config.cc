#include "src/tokenizer/tokenizer_config.h"

namespace sightline::tokenizer {

std::optional<std::string> config_token(const format::JsonObject& config, std::string_view key) {
  if (!config.has(key)) return std::nullopt;
  const auto& value = config.value().at(std::string(key));
  if (value.is_object()) return config.require_object(key).require_string("content");
  return config.require_string(key);
}

}  // namespace sightline::tokenizer
