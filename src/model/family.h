#ifndef SIGHTLINE_MODEL_FAMILY_H_
#define SIGHTLINE_MODEL_FAMILY_H_

#include <span>
#include <string>
#include <string_view>

namespace sightline::model {

/// What a family's config.json calls its sizes. Empty: it has no such key.
struct SizeKeys {
  std::string_view width, layers, query_heads, kv_heads, head_width, inner_width, max_positions, token_types,
      norm_epsilon, activation;
};

/// A key that must have the value that the forward pass stands for, if it is there.
struct FixedKey {
  std::string_view key;
  std::string_view json;  // the value, as JSON
};

struct ArchitectureEntry {
  std::string_view name;  // "BertForMaskedLM"
  bool pooler, language_head;
};

/// Where a family's tensors are in its files: names without ".weight" and ".bias". "{}" is the layer, from 0.
struct NameMap {
  std::string_view prefix;  // may stand before any name: "bert."
  std::string_view word_embedding, position_embedding, token_type_embedding, embedding_norm;
  std::string_view query, key, value, attention_output, attention_norm;
  std::string_view mlp_up, mlp_down, mlp_norm;
  std::string_view pooler;
  std::string_view head_dense, head_norm, head_output;
  std::string_view head_bias;                         // whole name
  std::span<const std::string_view> buffers;          // whole names that hold nothing learned
  std::span<const std::string_view> unused_prefixes;  // of heads that are not run
};

/// All that distinguishes one family of models from another: its entry in the table of family.cc.
struct Family {
  std::string_view model_type;
  SizeKeys keys;
  bool tied_by_default;
  // Of families that can be run; the others are known by their sizes alone.
  const NameMap* names = nullptr;
  std::span<const ArchitectureEntry> architectures = {};
  std::span<const FixedKey> fixed_keys = {};
  std::span<const std::string_view> idle_keys = {};  // of config.json, without effect on a forward pass
};

/// Throw UnsupportedModel, naming `file` and the types that can be run: the first for types not known at all, the
/// second also for those whose sizes alone are known.
const Family& find_family(std::string_view model_type, std::string_view file);
const Family& find_runnable_family(std::string_view model_type, std::string_view file);

/// A stored name of a runnable family as the name map spells it: without the prefix, and LayerNorm's gamma and beta (as
/// early files have it) as weight and bias. Empty for a buffer, which is to be ignored.
std::string canonical_name(const Family& family, std::string_view stored);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FAMILY_H_
