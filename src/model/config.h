#ifndef SIGHTLINE_MODEL_CONFIG_H_
#define SIGHTLINE_MODEL_CONFIG_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace sightline::model {

enum class Activation : std::uint8_t { gelu, gelu_tanh, relu };  // gelu: exact, with erf
enum class NormPlacement : std::uint8_t { post, pre };           // post: after the residual sum (BERT)

/// The one description of a transformer that every config format is turned into.
struct TransformerConfig {
  std::string family;        // "bert"
  std::string architecture;  // as the file names it: "BertModel"
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;           // hidden size
  std::int64_t layers = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;        // defaults to query_heads
  std::int64_t head_width = 0;      // explicit, else width / query_heads (which must divide)
  std::int64_t inner_width = 0;     // of the MLP
  std::int64_t max_positions = 0;
  std::int64_t token_types = 0;     // 0: no token-type embedding
  float norm_epsilon = 1e-12f;
  Activation activation = Activation::gelu;
  NormPlacement norm = NormPlacement::post;
  bool causal = false;
  bool pooler = false;
  bool language_head = false;       // BertForMaskedLM and its kind
  bool tied_embeddings = true;
};

/// Reads config.json. Throws BadFile for malformed files, UnsupportedModel (naming the key) for what changes the result and is not understood.
TransformerConfig parse_config(std::string_view json, std::string_view name);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_CONFIG_H_
