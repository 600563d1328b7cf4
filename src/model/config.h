#ifndef SIGHTLINE_MODEL_CONFIG_H_
#define SIGHTLINE_MODEL_CONFIG_H_

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "sightline/transformer_config.h"
#include "src/format/gguf.h"

namespace sightline::model {

/// Reads config.json. Throws BadFile for malformed files, UnsupportedModel (naming the key) for what changes the result
/// and is not understood.
TransformerConfig parse_config(std::string_view json, std::string_view name);

/// The same for the metadata of a GGUF file. What the format leaves to the tensors is filled in with the weights:
/// factors of the rope, whether the output matrix is the embedding, a vocabulary without a tokenizer (0 until then).
TransformerConfig parse_gguf_config(const format::GgufMetadata& metadata);

/// The description of the model at `path`, a Hugging Face directory or a GGUF file.
TransformerConfig read_config(const std::filesystem::path& path);

/// How the width of a layer splits into heads.
struct HeadSizes {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
};

/// The part of parse_config() that reads heads. Throws BadFile where the numbers do not fit together, UnsupportedModel
/// for a type that is not known.
HeadSizes parse_head_sizes(std::string_view json, std::string_view name);

/// Whether models of this type use the word embedding as output matrix where config.json does not say.
/// Throws UnsupportedModel for a type that is not known.
bool tied_by_default(std::string_view model_type);

/// What a file holds as output matrix of its own, compared with the word embedding.
enum class StoredOutput : std::uint8_t { absent, equal, different };
enum class OutputMatrix : std::uint8_t { embedding, own };

/// Which matrix gives the logits. A tied model uses the embedding whatever is stored; one that is not tied and stores
/// none cannot be run (BadFile naming `file`): its matrix would be made up.
OutputMatrix choose_output_matrix(bool tied, StoredOutput stored, std::string_view file);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_CONFIG_H_
