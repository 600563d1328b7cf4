// Metadata of GGUF files -> TransformerConfig. Keys and their meaning: docs/models.md.

#include <algorithm>
#include <cmath>
#include <set>

#include "sightline/error.h"
#include "src/model/config_parts.h"

namespace sightline::model {
namespace {

using format::GgufMetadata;

// They change the result, and no architecture here has them, unless they are the number that stands for not.
struct RefusedKey {
  std::string_view key;
  double neutral;
};

constexpr RefusedKey kRefused[] = {
    {"attention.clamp_kqv", 0},
    {"attention.max_alibi_bias", 0},
    {"attention.temperature_scale", 0},
    {"embedding_scale", 0},
    {"logit_scale", 0},
    {"residual_scale", 0},
    {"rope.dimension_sections", 0},
    {"rope.scaling.yarn_attn_factor", 1},
    {"rope.scaling.yarn_ext_factor", 1},
    {"rope.scaling.yarn_log_multiplier", 0},
};

// What counts only in files without a tokenizer, with experts or with yarn, and is read there; notes of training;
// settings of pooling and classifiers, which are not run.
constexpr std::string_view kIdle[] = {
    "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon",
    "classifier.output_labels",
    "expert_used_count",
    "feed_forward_length",
    "pooling_type",
    "rope.scaling.finetuned",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "tensor_data_layout",
    "vocab_size",
};

// Keys of the architecture that the file is of: "llama.block_count". Remembers which were read, so that the others can
// be named.
class ArchitectureKeys {
 public:
  explicit ArchitectureKeys(const GgufMetadata& metadata)
      : metadata_(metadata), architecture_(metadata.require_string("general.architecture")) {}

  const std::string& architecture() const { return architecture_; }
  const GgufMetadata& metadata() const { return metadata_; }
  std::string name(std::string_view key) const { return architecture_ + "." + std::string(key); }
  std::string where(std::string_view key) const { return metadata_.where(name(key)); }
  bool has(std::string_view key) const { return metadata_.has(note(key)); }

  std::int64_t require_int(std::string_view key, std::int64_t max) const {
    return metadata_.require_int(note(key), 1, max);
  }
  std::optional<std::int64_t> find_int(std::string_view key, std::int64_t min, std::int64_t max = kMaxSize) const {
    return metadata_.find_int(note(key), min, max);
  }
  std::optional<double> find_positive(std::string_view key) const {
    const auto value = find_number(key);
    if (value) check_positive(*value, where(key));
    return value;
  }
  std::optional<double> find_number(std::string_view key) const { return metadata_.find_number(note(key)); }
  std::optional<bool> find_bool(std::string_view key) const { return metadata_.find_bool(note(key)); }
  std::optional<std::string_view> find_string(std::string_view key) const { return metadata_.find_string(note(key)); }
  std::optional<std::vector<std::int64_t>> find_ints(std::string_view key) const {
    return metadata_.find_ints(note(key));
  }

  // Keys of the architecture that were not read and may have an effect.
  std::vector<std::string> unknown() const {
    std::vector<std::string> keys = metadata_.keys();
    std::erase_if(keys, [&](const std::string& key) {
      if (!key.starts_with(architecture_ + ".") || read_.contains(key)) return true;
      return std::ranges::find(kIdle, std::string_view(key).substr(architecture_.size() + 1)) != std::end(kIdle);
    });
    return keys;
  }

  // A size that some files give for each layer; it must be the same for all.
  std::optional<std::int64_t> find_uniform(std::string_view key) const {
    const auto values = find_ints(key);
    if (!values) return std::nullopt;
    if (values->empty()) throw BadFile(where(key) + " must not be empty");
    if (std::ranges::any_of(*values, [&](std::int64_t value) { return value != values->front(); })) {
      throw UnsupportedModel(where(key) + " differs from layer to layer, which is not supported");
    }
    if (values->front() < 1 || values->front() > kMaxSize) {
      throw BadFile(where(key) + " must be a whole number from 1 to " + std::to_string(kMaxSize));
    }
    return values->front();
  }

 private:
  std::string note(std::string_view key) const { return *read_.insert(name(key)).first; }

  const GgufMetadata& metadata_;
  std::string architecture_;
  mutable std::set<std::string, std::less<>> read_;  // a record beside what the metadata means
};

void refuse_keys(const ArchitectureKeys& keys) {
  if (!keys.find_bool("attention.causal").value_or(true)) {
    throw UnsupportedModel(keys.where("attention.causal") + ": false is not supported in " + keys.architecture());
  }
  for (const RefusedKey& refused : kRefused) {
    if (!keys.has(refused.key)) continue;
    const bool is_list = keys.metadata().find(keys.name(refused.key))->is_array;
    if (!is_list && keys.find_number(refused.key) == refused.neutral) continue;
    throw UnsupportedModel(keys.where(refused.key) + " is not supported");
  }
}

std::int64_t require_uniform(const ArchitectureKeys& keys, std::string_view key) {
  if (const auto value = keys.find_uniform(key)) return *value;
  throw BadFile(keys.where(key) + " is missing");
}

void read_heads(const ArchitectureKeys& keys, TransformerConfig& config) {
  config.query_heads = require_uniform(keys, "attention.head_count");
  config.kv_heads = keys.find_uniform("attention.head_count_kv").value_or(config.query_heads);
  const auto key_width = keys.find_int("attention.key_length", 1);
  if (!key_width && config.width % config.query_heads != 0) {
    throw BadFile(keys.where("embedding_length") + ": " + std::to_string(config.width) + " is not a multiple of the " +
                  std::to_string(config.query_heads) + " heads");
  }
  config.head_width = key_width.value_or(config.width / config.query_heads);
  check_heads(config, keys.where("attention.head_count"), keys.where("attention.head_count_kv"));
  const auto value_width = keys.find_int("attention.value_length", 1);
  if (value_width.value_or(config.head_width) != config.head_width) {
    throw UnsupportedModel(keys.where("attention.value_length") + ": " + std::to_string(*value_width) +
                           " is not the width of keys, " + std::to_string(config.head_width) +
                           ", which is not supported");
  }
}

// Rows of the word embedding: one for each token of the tokenizer that the file brings.
std::int64_t read_vocabulary(const ArchitectureKeys& keys) {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  const format::GgufValue* tokens = keys.metadata().find(kTokens);
  if (tokens == nullptr || !tokens->is_array)
    return keys.metadata().find_int(keys.name("vocab_size"), 1, kMaxVocabulary).value_or(0);
  if (tokens->count < 1 || tokens->count > static_cast<std::uint64_t>(kMaxVocabulary)) {
    throw BadFile(keys.metadata().where(kTokens) + " must hold at least one token, and at most " +
                  std::to_string(kMaxVocabulary));
  }
  return static_cast<std::int64_t>(tokens->count);
}

void read_sizes(const ArchitectureKeys& keys, const Family& family, TransformerConfig& config) {
  config.layers = config.layer_groups = keys.require_int("block_count", kMaxLayers);
  config.width = config.embedding_width = keys.require_int("embedding_length", kMaxSize);
  config.max_positions = keys.require_int("context_length", kMaxSize);
  config.inner_width = family.traits.mlp == MlpKind::experts ? keys.require_int("expert_feed_forward_length", kMaxSize)
                                                             : require_uniform(keys, "feed_forward_length");
  config.vocabulary = read_vocabulary(keys);
  read_heads(keys, config);
  const std::string_view epsilon =
      config.norm == NormKind::rms_norm ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  const auto value = keys.find_number(epsilon);
  if (!value) throw BadFile(keys.where(epsilon) + " is missing");
  config.norm_epsilon = check_epsilon(*value, keys.where(epsilon));
}

void read_window_flags(const ArchitectureKeys& keys, std::int64_t window, const std::vector<std::int64_t>& flags,
                       TransformerConfig& config) {
  if (flags.size() < config.pattern.size()) {
    throw BadFile(keys.where("attention.sliding_window_pattern") + " names " + std::to_string(flags.size()) +
                  " layers, there are " + std::to_string(config.layers));
  }
  for (std::size_t layer = 0; layer < config.pattern.size(); ++layer) {
    if (flags[layer] != 0) config.pattern[layer] = {window, 1};
  }
}

// Every n-th layer sees all: n, or a flag for each layer that has the window.
void read_windows(const ArchitectureKeys& keys, WindowRule rule, TransformerConfig& config) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  config.pattern.assign(static_cast<std::size_t>(config.layers), {});
  const std::int64_t window = keys.find_int("attention.sliding_window", 0).value_or(0);
  const auto said = keys.find_ints(kPattern);
  const bool by_layer = said && keys.metadata().find(keys.name(kPattern))->is_array;
  if (by_layer) return read_window_flags(keys, window, *said, config);
  const std::int64_t period = said ? said->front() : 6;
  if (period < 1) throw BadFile(keys.where(kPattern) + " must be above 0");
  const bool unclear = rule == WindowRule::none || rule == WindowRule::from_max_window_layer;
  if (unclear && window > 0 && window < config.max_positions) {
    throw UnsupportedModel(keys.where("attention.sliding_window") + " does not say which layers have the window (" +
                           keys.name(kPattern) + " is missing)");
  }
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    if (has_window(rule, layer, period)) config.pattern[static_cast<std::size_t>(layer)] = {window, 1};
  }
}

RopeScaling read_scaling(const ArchitectureKeys& keys) {
  const auto name = keys.find_string("rope.scaling.type");
  if (!name) return keys.has("rope.scale_linear") ? RopeScaling::linear : RopeScaling::none;
  if (*name == "none") return RopeScaling::none;
  if (*name == "linear") return RopeScaling::linear;
  if (*name == "yarn") return RopeScaling::yarn;
  if (*name == "longrope") return RopeScaling::none;  // its factors are tensors, and the scaling comes with them
  throw UnsupportedModel(keys.where("rope.scaling.type") + ": " + format::quote(*name) +
                         " is not supported (none, linear, yarn and longrope are)");
}

// A file with a factor and no type means linear scaling.
double read_factor(const ArchitectureKeys& keys) {
  const std::string_view key = keys.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  const auto factor = keys.find_number(key);
  if (!factor || *factor == 0) return 1;  // 0 is how converters write "none"
  return check_positive(*factor, keys.where(key));
}

void read_yarn(const ArchitectureKeys& keys, Rope& rope) {
  const double stretch = rope.factor > 1 ? 0.1 * std::log(rope.factor) + 1 : 1;
  rope.attention_factor = stretch * rope.attention_factor.value_or(1);
  rope.beta_fast = keys.find_positive("rope.scaling.yarn_beta_fast").value_or(rope.beta_fast);
  rope.beta_slow = keys.find_positive("rope.scaling.yarn_beta_slow").value_or(rope.beta_slow);
}

// Positions of all layers, or of those without a window.
Rope read_rope(const ArchitectureKeys& keys, const Family& family, const TransformerConfig& config) {
  Rope rope;
  rope.base = keys.find_positive("rope.freq_base").value_or(family.rope.base);
  rope.width = keys.find_int("rope.dimension_count", 1).value_or(config.head_width);
  rope.adjacent_pairs = family.gguf_names->adjacent_pairs;
  rope.truncate = family.rope.truncate_in_gguf;
  rope.original_positions = keys.find_int("rope.scaling.original_context_length", 2)
                                .value_or(std::max<std::int64_t>(config.max_positions, 2));
  rope.attention_factor = keys.find_positive("rope.scaling.attn_factor");
  rope.scaling = read_scaling(keys);
  rope.factor = read_factor(keys);
  if (rope.scaling == RopeScaling::none && !keys.has("rope.scaling.type") && rope.factor != 1) {
    rope.scaling = RopeScaling::linear;
  }
  if (rope.scaling == RopeScaling::yarn) read_yarn(keys, rope);
  check_rope(rope, config.head_width, keys.where("rope.dimension_count"));
  return rope;
}

// Layers with a window have a base of their own, and no scaling, in families that say so.
void read_ropes(const ArchitectureKeys& keys, const Family& family, TransformerConfig& config) {
  if (family.rope.base == 0) return;
  config.ropes.push_back(read_rope(keys, family, config));
  stretch_positions(config.ropes.front(), config);
  if (family.rope.window_base == 0) {
    for (LayerPattern& layer : config.pattern) layer.rope = 0;
    return;
  }
  Rope window;
  window.base = keys.find_positive("rope.freq_base_swa").value_or(family.rope.window_base);
  window.width = config.ropes.front().width;
  window.adjacent_pairs = config.ropes.front().adjacent_pairs;
  check_rope(window, config.head_width, keys.where("rope.freq_base_swa"));
  config.ropes.push_back(window);
}

void read_scores(const ArchitectureKeys& keys, TransformerConfig& config) {
  const auto cap = [&](std::string_view key, float& value) {
    if (const auto number = keys.find_number(key)) value = check_softcap(*number, keys.where(key));
  };
  cap("attn_logit_softcapping", config.attention_softcap);
  cap("final_logit_softcapping", config.logit_softcap);
  const auto scale = keys.find_number("attention.scale");
  if (scale && *scale != 0)
    config.attention_scale = static_cast<float>(check_positive(*scale, keys.where("attention.scale")));
}

void read_experts(const ArchitectureKeys& keys, TransformerConfig& config) {
  const std::int64_t count = keys.find_int("expert_count", 0, kMaxExperts).value_or(0);
  if (config.mlp != MlpKind::experts) {
    if (count > 0)
      throw UnsupportedModel(keys.where("expert_count") + ": experts are not supported in " + keys.architecture());
    return;
  }
  config.experts.count = count;
  config.experts.used = keys.find_int("expert_used_count", 0).value_or(0);
  if (count < 1 || config.experts.used < 1 || config.experts.used > count) {
    throw BadFile(keys.where("expert_used_count") + " must be from 1 to " + keys.name("expert_count"));
  }
}

// GGUF has no key for biases: those that a family always has must be there, others may.
void relax(Biases& biases) {
  if (biases == Biases::none) biases = Biases::as_stored;
}

}  // namespace

TransformerConfig parse_gguf_config(const GgufMetadata& metadata) {
  const ArchitectureKeys keys(metadata);
  const Family& family = find_gguf_family(keys.architecture(), metadata.name());
  TransformerConfig config = family_config(family);
  config.architecture = keys.architecture();
  config.language_head = LanguageHead::output;
  refuse_keys(keys);
  relax(config.biases.attention_input);
  relax(config.biases.attention_output);
  relax(config.biases.mlp);
  read_sizes(keys, family, config);
  if (family.traits.scaled_embedding) config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  if (family.read_gguf != nullptr) family.read_gguf(config);
  read_scores(keys, config);
  read_experts(keys, config);
  read_windows(keys, family.traits.windows, config);
  read_ropes(keys, family, config);
  config.unknown_keys = keys.unknown();
  return config;
}

}  // namespace sightline::model
