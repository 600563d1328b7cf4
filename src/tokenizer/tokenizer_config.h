#ifndef SIGHTLINE_TOKENIZER_TOKENIZER_CONFIG_H_
#define SIGHTLINE_TOKENIZER_TOKENIZER_CONFIG_H_

#include <optional>
#include <string>
#include <string_view>

#include "src/format/json.h"

namespace sightline::tokenizer {

/// A token that tokenizer_config.json names ("eos_token"), a text or an object with it; nothing where it is absent or
/// null. Throws BadFile for a value of another kind.
std::optional<std::string> config_token(const format::JsonObject& config, std::string_view key);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_TOKENIZER_CONFIG_H_
