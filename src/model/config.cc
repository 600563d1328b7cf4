#include "src/model/config.h"

#include <algorithm>
#include <cmath>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/json.h"
#include "src/model/config_parts.h"
#include "src/model/family.h"

namespace sightline::model {
namespace {

using format::JsonObject;

struct ActivationName {
  std::string_view name;
  Activation activation;
};

constexpr ActivationName kActivations[] = {
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_python_tanh", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"relu", Activation::relu},
    {"silu", Activation::silu},
    {"swish", Activation::silu},
};

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;  // labels of a large classifier included

// A file whose language model is described in an object of its own, the rest of it being of other parts.
struct Wrapper {
  std::string_view model_type, object, inner_type, architecture;
};

constexpr Wrapper kWrappers[] = {
    {"gemma3", "text_config", "gemma3_text", "Gemma3ForConditionalGeneration"},
};

std::int64_t read_size(const ConfigKeys& keys, const SizeKey& size) {
  if (size.key.empty()) return 0;
  const std::int64_t max = size.key == "vocab_size" ? kMaxVocabulary : kMaxSize;
  if (size.absent == 0) return keys.require_int(size.key, 1, max);
  return keys.find_int(size.key, 1, max).value_or(size.absent);
}

std::int64_t read_size_or(const ConfigKeys& keys, const SizeKey& size, std::int64_t otherwise) {
  return size.key.empty() || (size.absent == 0 && !keys.has(size.key)) ? otherwise : read_size(keys, size);
}

void read_heads(const ConfigKeys& keys, const SizeKeys& names, TransformerConfig& config) {
  config.width = read_size(keys, names.width);
  config.query_heads = read_size(keys, names.query_heads);
  config.kv_heads = read_size_or(keys, names.kv_heads, config.query_heads);
  config.head_width = read_size_or(keys, names.head_width, 0);
  if (config.head_width == 0 && config.width % config.query_heads != 0) {
    throw BadFile(keys.where(names.width.key) + ": " + std::to_string(config.width) + " is not a multiple of the " +
                  std::to_string(config.query_heads) + " heads");
  }
  if (config.head_width == 0) config.head_width = config.width / config.query_heads;
  check_heads(config, keys.where(names.query_heads.key), keys.where(names.kv_heads.key));
}

void read_sizes(const ConfigKeys& keys, const SizeKeys& names, TransformerConfig& config) {
  read_heads(keys, names, config);
  config.vocabulary = read_size(keys, names.vocabulary);
  config.embedding_width = read_size_or(keys, names.embedding_width, config.width);
  config.layers = keys.find_int(names.layers.key, 1, kMaxLayers).value_or(names.layers.absent);
  if (config.layers == 0) keys.require_int(names.layers.key, 1, kMaxLayers);
  config.layer_groups = config.layers;
  config.inner_width = read_size_or(keys, names.inner_width, 4 * config.width);
  config.max_positions = read_size(keys, names.max_positions);
  if (!names.token_types.key.empty()) {
    config.token_types = keys.find_int(names.token_types.key, 0, kMaxSize).value_or(names.token_types.absent);
  }
}

void read_architecture(const ConfigKeys& keys, const Family& family, TransformerConfig& config) {
  const nlohmann::json* names = keys.find_array("architectures");
  if (names == nullptr || names->empty()) return;
  if (!names->front().is_string()) throw BadFile(keys.where("architectures") + " must hold names");
  config.architecture = names->front().get<std::string>();
  for (const ArchitectureEntry& known : family.architectures) {
    if (config.architecture != std::string(family.class_stem) + std::string(known.suffix)) continue;
    config.pooler = known.pooler;
    config.language_head = known.language_head;
    return;
  }
  throw UnsupportedModel(keys.where("architectures") + ": architecture " + format::quote(config.architecture) + " of " +
                         std::string(family.model_type) + " models cannot be run");
}

void check_fixed_keys(const ConfigKeys& keys, std::span<const FixedKey> fixed_keys) {
  for (const FixedKey& fixed : fixed_keys) {
    if (!keys.has(fixed.key)) continue;
    const nlohmann::json& value = keys.value().at(std::string(fixed.key));
    if (value == nlohmann::json::parse(fixed.json)) continue;
    throw UnsupportedModel(keys.where(fixed.key) + ": " +
                           format::quote(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) +
                           " is not supported (only " + std::string(fixed.json) + " is)" +
                           (fixed.remedy.empty() ? "" : ": ") + std::string(fixed.remedy));
  }
}

void read_traits(const ConfigKeys& keys, const Family& family, TransformerConfig& config) {
  const SizeKeys& names = family.keys;
  if (!names.norm_epsilon.empty()) {
    if (const auto epsilon = keys.find_number(names.norm_epsilon)) {
      config.norm_epsilon = check_epsilon(*epsilon, keys.where(names.norm_epsilon));
    }
  }
  if (const std::string* name = keys.find_string(names.activation)) {
    config.activation = find_activation(*name, keys.where(names.activation));
  }
  config.head_activation = config.activation;
  config.tied_embeddings = keys.find_bool("tie_word_embeddings").value_or(family.traits.tied);
  const auto read_biases = [&](bool readable, std::string_view key, Biases& biases) {
    if (!readable) return;
    if (const auto value = keys.find_bool(key)) biases = *value ? Biases::all : Biases::none;
  };
  read_biases(family.traits.attention_bias_key, "attention_bias", config.biases.attention_input);
  read_biases(family.traits.attention_bias_key, "attention_bias", config.biases.attention_output);
  read_biases(family.traits.mlp_bias_key, "mlp_bias", config.biases.mlp);
}

std::vector<std::string> find_unknown_keys(const ConfigKeys& keys, const Family& family) {
  std::vector<std::string> unknown = keys.unread();
  std::erase_if(unknown, [&](const std::string& key) {
    return is_idle_everywhere(key) || std::ranges::find(family.idle_keys, key) != family.idle_keys.end();
  });
  return unknown;
}

TransformerConfig parse_family(const ConfigKeys& keys, const Family& family) {
  TransformerConfig config = family_config(family);
  check_fixed_keys(keys, fixed_everywhere());
  check_fixed_keys(keys, family.fixed_keys);
  read_architecture(keys, family, config);
  read_sizes(keys, family.keys, config);
  read_traits(keys, family, config);
  if (family.read != nullptr) family.read(keys, config);
  read_pattern(keys, family, config);
  read_ropes(keys, family, config);
  for (std::string& key : find_unknown_keys(keys, family)) config.unknown_keys.push_back(std::move(key));
  return config;
}

// The language model within a larger one.
TransformerConfig parse_wrapped(const ConfigKeys& keys, const Wrapper& wrapper) {
  check_fixed_keys(keys, fixed_everywhere());
  const auto inner = keys.find_object(wrapper.object);
  if (!inner) throw BadFile(keys.where(wrapper.object) + " is missing");
  const std::string* type = inner->find_string("model_type");
  if (type != nullptr && *type != wrapper.inner_type) {
    throw UnsupportedModel(inner->where("model_type") + ": " + format::quote(*type) + " is not supported (only " +
                           std::string(wrapper.inner_type) + " is)");
  }
  TransformerConfig config = parse_family(*inner, find_family(wrapper.inner_type, keys.name()));
  if (const auto tied = keys.find_bool("tie_word_embeddings")) config.tied_embeddings = *tied;
  config.architecture = wrapper.architecture;
  config.language_head = LanguageHead::output;
  return config;
}

void require_known_architecture(const ConfigKeys& keys, const Wrapper& wrapper) {
  const nlohmann::json* names = keys.find_array("architectures");
  if (names == nullptr || names->empty() || names->front() == wrapper.architecture) return;
  throw UnsupportedModel(keys.where("architectures") + ": " + format::quote(names->front().dump()) +
                         " cannot be run (" + std::string(wrapper.architecture) + " can)");
}

const std::string& require_model_type(const ConfigKeys& keys) {
  const std::string* type = keys.find_string("model_type");
  if (type == nullptr) throw BadFile(keys.where("model_type") + " is missing");
  return *type;
}

}  // namespace

TransformerConfig family_config(const Family& family) {
  const Traits& traits = family.traits;
  TransformerConfig config;
  config.family = family.model_type;
  config.norm = traits.norm;
  config.norm_place = traits.norm_place;
  config.norm_epsilon = static_cast<float>(traits.norm_epsilon);
  config.embedding_norm = traits.embedding_norm;
  config.final_norm = traits.final_norm;
  config.mlp = traits.mlp;
  config.activation = config.head_activation = traits.activation;
  config.causal = traits.causal;
  config.position_embedding = traits.position_embedding;
  config.query_key_norm = traits.query_key_norm;
  config.sinks = traits.sinks;
  config.biases = traits.biases;
  config.tied_embeddings = traits.tied;
  return config;
}

void check_heads(const TransformerConfig& config, const std::string& where_heads, const std::string& where_kv_heads) {
  if (config.query_heads > kMaxHeads || config.query_heads * config.head_width > kMaxHeadsWidth) {
    throw BadFile(where_heads + ": " + std::to_string(config.query_heads) + " heads of " +
                  std::to_string(config.head_width) + " elements are more than any model has (" +
                  std::to_string(kMaxHeads) + " heads, " + std::to_string(kMaxHeadsWidth) + " elements in all)");
  }
  if (config.query_heads % config.kv_heads == 0) return;
  throw BadFile(where_kv_heads + ": " + std::to_string(config.query_heads) + " query heads are not a multiple of " +
                std::to_string(config.kv_heads) + " key/value heads");
}

Activation find_activation(std::string_view name, const std::string& where) {
  std::string names;
  for (const ActivationName& known : kActivations) {
    if (known.name == name) return known.activation;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  throw UnsupportedModel(where + ": activation " + format::quote(name) + " is not supported (" + names + " are)");
}

TransformerConfig parse_config(std::string_view json, std::string_view name) {
  const nlohmann::json root = format::parse_json(json, name);
  const ConfigKeys keys{JsonObject(root, name)};
  const std::string& type = require_model_type(keys);
  for (const Wrapper& wrapper : kWrappers) {
    if (wrapper.model_type != type) continue;
    require_known_architecture(keys, wrapper);
    return parse_wrapped(keys, wrapper);
  }
  return parse_family(keys, find_family(type, name));
}

TransformerConfig read_config(const std::filesystem::path& path) {
  if (format::is_gguf(path)) return parse_gguf_config(format::GgufFile::open(path).metadata());
  const std::filesystem::path file = path / "config.json";
  return parse_config(format::read_regular_file(file, kMaxConfigBytes), file.string());
}

HeadSizes parse_head_sizes(std::string_view json, std::string_view name) {
  const nlohmann::json root = format::parse_json(json, name);
  const ConfigKeys keys{JsonObject(root, name)};
  TransformerConfig config;
  read_heads(keys, find_family(require_model_type(keys), name).keys, config);
  return {config.query_heads, config.kv_heads, config.head_width};
}

bool tied_by_default(std::string_view model_type) { return find_family(model_type, "model").traits.tied; }

OutputMatrix choose_output_matrix(bool tied, StoredOutput stored, std::string_view file) {
  if (tied) return OutputMatrix::embedding;
  if (stored != StoredOutput::absent) return OutputMatrix::own;
  throw BadFile(std::string(file) +
                ": the output matrix is missing, and the embeddings are not tied to stand in for it");
}

}  // namespace sightline::model
