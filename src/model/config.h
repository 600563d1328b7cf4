#ifndef SIGHTLINE_MODEL_CONFIG_H_
#define SIGHTLINE_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::model {

enum class Activation : std::uint8_t { gelu, gelu_tanh, relu };  // gelu: exact, with erf

/// The one description of a transformer that every config format is turned into.
struct TransformerConfig {
  std::string family;        // "bert"
  std::string architecture;  // as the file names it: "BertModel"
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;  // hidden size
  std::int64_t layers = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;     // defaults to query_heads
  std::int64_t head_width = 0;   // explicit, else width / query_heads (which must divide)
  std::int64_t inner_width = 0;  // of the MLP
  std::int64_t max_positions = 0;
  std::int64_t token_types = 0;  // 0: no token-type embedding
  float norm_epsilon = 1e-12f;
  Activation activation = Activation::gelu;
  bool causal = false;
  bool pooler = false;  // from config.json: whether the architecture has one; once loaded: whether the file holds one
  bool language_head = false;  // BertForMaskedLM and its kind; the same
  bool tied_embeddings = true;
  std::vector<std::string> unknown_keys;  // of config.json: neither used nor known to be without effect
};

/// Reads config.json. Throws BadFile for malformed files, UnsupportedModel (naming the key) for what changes the result
/// and is not understood.
TransformerConfig parse_config(std::string_view json, std::string_view name);

/// How the width of a layer splits into heads.
struct HeadSizes {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
};

/// The part of parse_config() that reads heads, also for model types whose sizes are known although they cannot be run
/// yet. Throws BadFile where the numbers do not fit together, UnsupportedModel for a type that is not known at all.
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
