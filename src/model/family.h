#ifndef SIGHTLINE_MODEL_FAMILY_H_
#define SIGHTLINE_MODEL_FAMILY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/config.h"
#include "src/model/config_keys.h"
#include "src/model/weights.h"

namespace sightline::model {

/// A size in config.json. Without a key the family has no such size; `absent` is what it is where the file does not
/// say, 0 that the file must.
struct SizeKey {
  std::string_view key = {};
  std::int64_t absent = 0;
};

/// What a family's config.json calls its sizes. Absent: key/value heads are as many as query heads, the head width is
/// width / query heads, the embedding width is the width, the inner width 4 times the width.
struct SizeKeys {
  SizeKey vocabulary = {"vocab_size"};
  SizeKey width = {}, layers = {}, query_heads = {}, kv_heads = {}, head_width = {}, embedding_width = {},
          inner_width = {}, max_positions = {}, token_types = {};
  std::string_view norm_epsilon = {}, activation = {};
};

/// Which layers have the window of `sliding_window` where no layer_types say.
enum class WindowRule : std::uint8_t {
  none,                   // the family has no windows
  all_layers,             // Mistral, Phi-3
  from_max_window_layer,  // from layer max_window_layers on, if use_sliding_window: Qwen
  even_layers,            // 0, 2, ...: Gemma 2, gpt-oss
  between_full_layers,    // all but every sliding_window_pattern-th: Gemma 3
};

/// How a family's config.json gives rotary positions; without a base it has none.
struct RopeKeys {
  double base = 0;  // where the file does not say
  std::string_view base_key = "rope_theta";
  std::string_view partial_key = "partial_rotary_factor";  // the part of a head that is turned
  double partial = 1;                                      // where the file does not say
  double window_base = 0;                                  // of layers with a window, where they have one of their own
  std::string_view absent_settings = "{}";                 // rope_parameters where the file has none
  std::int64_t original_positions = 0;                     // where the file does not say; 0: max_position_embeddings
  bool truncate_in_gguf = true;                            // Rope::truncate, for which GGUF has no key
  bool yarn_is_longrope = false;                           // Phi-3's older files
};

/// What all models of a family have in common, and defaults that belong to the family.
struct Traits {
  NormKind norm = NormKind::layer_norm;
  NormPlace norm_place = NormPlace::after;
  double norm_epsilon = 1e-12;  // default
  bool embedding_norm = false, final_norm = false;
  MlpKind mlp = MlpKind::plain;
  Activation activation = Activation::gelu;  // default
  bool causal = false, position_embedding = false, query_key_norm = false, sinks = false;
  bool scaled_embedding = false;                          // by sqrt(width)
  bool tied = false;                                      // default of tie_word_embeddings
  BiasRules biases = {};                                  // where the file does not say
  bool attention_bias_key = false, mlp_bias_key = false;  // whether attention_bias and mlp_bias say
  WindowRule windows = WindowRule::none;
  std::int64_t window = 0;  // default of sliding_window
};

/// A key that must have the value that the forward pass stands for, if it is there.
struct FixedKey {
  std::string_view key;
  std::string_view json;         // the value, as JSON
  std::string_view remedy = {};  // what to do where it is another
};

/// A class of the family, by the end of its name: "ForMaskedLM".
struct ArchitectureEntry {
  std::string_view suffix;
  bool pooler = false;
  LanguageHead language_head = LanguageHead::none;
};

/// Where a family's tensors are in its files, and how they are laid out. Names are without ".weight" and ".bias" unless
/// noted; "{}" is the layer (its group), from 0. Empty: the family has no such tensor.
struct NameMap {
  std::span<const std::string_view> prefixes = {};  // any of which may stand before any name, longer ones first
  std::string_view word_embedding = {}, position_embedding = {}, token_type_embedding = {}, embedding_norm = {},
                   embedding_projection = {};
  std::string_view attention_norm = {}, attention_post_norm = {};
  std::string_view query = {}, key = {}, value = {}, fused_heads = {}, query_norm = {}, key_norm = {},
                   attention_output = {};
  std::string_view sinks = {};  // whole name
  std::string_view mlp_norm = {}, mlp_post_norm = {};
  std::string_view gate = {}, up = {}, fused_gates = {},
                   down = {};  // of experts, without expert_weight and expert_bias
  std::string_view router = {}, expert_weight = {}, expert_bias = {};
  std::string_view final_norm = {}, pooler = {};
  std::string_view head_dense = {}, head_norm = {}, head_output = {};
  std::string_view head_bias = {};  // whole name

  HeadLayout heads = HeadLayout::separate;
  GateLayout gates = GateLayout::separate;
  bool transposed = false;          // linear layers of blocks as [in, out]: GPT-2's Conv1D
  bool transposed_experts = false;  // experts as [experts, in, out]: gpt-oss in Hugging Face's layout
  bool ones_left_out = false;       // norms count from 1: Gemma in Hugging Face's layout
  bool adjacent_pairs = false;      // rows of query and key turned for ropes of neighbours: llama in GGUF's layout
  std::span<const std::string_view> buffers = {};          // ends of names that hold nothing learned
  std::span<const std::string_view> unused_prefixes = {};  // of heads that are not run
};

/// All that distinguishes one family of models from another: its entry in a table (families_*.cc).
struct Family {
  std::string_view model_type;              // in config.json
  std::string_view gguf_architecture = {};  // general.architecture of GGUF files; empty: there are none
  Traits traits;
  SizeKeys keys;
  RopeKeys rope = {};
  const NameMap* names = nullptr;
  const NameMap* gguf_names = nullptr;
  std::string_view class_stem;  // "Bert" of "BertForMaskedLM"
  std::span<const ArchitectureEntry> architectures = {};
  std::span<const FixedKey> fixed_keys = {};
  std::span<const std::string_view> idle_keys = {};  // of config.json, without effect on a forward pass
  // Reads what only this family has; sizes are filled in.
  void (*read)(const ConfigKeys& keys, TransformerConfig& config) = nullptr;
  // Fills in what GGUF files of the family leave unsaid; their keys are read afterwards.
  void (*read_gguf)(TransformerConfig& config) = nullptr;
};

std::span<const Family> encoder_families();
std::span<const Family> gpt_families();
std::span<const Family> llama_families();
std::span<const Family> gemma_families();

/// Throw UnsupportedModel, naming `file` and the types that can be run.
const Family& find_family(std::string_view model_type, std::string_view file);
const Family& find_gguf_family(std::string_view architecture, std::string_view file);

/// Keys that config.json may have in all families without effect on a forward pass.
bool is_idle_everywhere(std::string_view key);
/// Keys that must have one value in all families.
std::span<const FixedKey> fixed_everywhere();

/// A stored name as the name map spells it: without the prefix, and LayerNorm's gamma and beta (as early files have it)
/// as weight and bias. Empty for a buffer, which is to be ignored.
std::string canonical_name(const NameMap& names, std::string_view stored);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FAMILY_H_
