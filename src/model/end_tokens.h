#ifndef SIGHTLINE_MODEL_END_TOKENS_H_
#define SIGHTLINE_MODEL_END_TOKENS_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "sightline/tokenizer.h"
#include "src/format/json.h"

namespace sightline::model {

/// The tokens that end a text, ascending.
/// - What the files name: of a directory "eos_token_id" of generation_config.json (a number or a list) or, where that
///   names none, of config.json, and "eos_token" of tokenizer_config.json; of a GGUF file its eos, eot and eom ids.
/// - Special tokens that are spelled like an end of turn or text (tokenizer::end_pieces()), but for "<|end|>" where
///   "<|return|>" and "<|call|>" are special too: there it ends a message within a turn.
/// Empty where there are none. Throws BadFile for a value of another kind, naming file and key.
std::vector<std::int32_t> end_tokens(const std::filesystem::path& model, const tokenizer::Tokenizer& tokenizer);

/// "eos_token_id" of generation_config.json or config.json, as it stands there. Throws BadFile.
std::vector<std::int32_t> named_end_tokens(const format::JsonObject& config);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_END_TOKENS_H_
