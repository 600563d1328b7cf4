#ifndef SIGHTLINE_MODEL_END_TOKENS_H_
#define SIGHTLINE_MODEL_END_TOKENS_H_

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sightline::model {

/// The tokens that end a text, ascending: of a directory, "eos_token_id" of generation_config.json (a number or a list)
/// or, where that names none, of config.json; of a GGUF file, its eos, eot and eom ids. Empty where no file names one.
/// Throws BadFile for a value that is neither, naming file and key.
std::vector<std::int32_t> end_tokens(const std::filesystem::path& model);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_END_TOKENS_H_
