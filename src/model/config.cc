#include "src/model/config.h"

#include <algorithm>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/model/family.h"

namespace sightline::model {
namespace {

using format::JsonObject;

// Far above any model there is, and low enough for products of two to fit 64 bits.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
constexpr std::int64_t kMaxVocabulary = INT32_MAX;  // ids are 32 bits wide
constexpr std::int64_t kMaxLayers = 4096;

struct ActivationName {
  std::string_view name;
  Activation activation;
};

constexpr ActivationName kActivations[] = {
    {"gelu", Activation::gelu},           {"gelu_python", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},  {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh}, {"relu", Activation::relu},
};

Activation read_activation(const JsonObject& config, std::string_view key) {
  const std::string* name = config.find_string(key);
  if (name == nullptr) return Activation::gelu;
  for (const ActivationName& known : kActivations) {
    if (known.name == *name) return known.activation;
  }
  throw UnsupportedModel(config.where(key) + ": activation " + format::quote(*name) +
                         " is not supported (gelu, gelu_new, gelu_pytorch_tanh and relu are)");
}

HeadSizes read_heads(const JsonObject& config, const SizeKeys& keys) {
  HeadSizes heads;
  const std::int64_t width = config.require_int(keys.width, 1, kMaxSize);
  heads.query_heads = config.require_int(keys.query_heads, 1, kMaxSize);
  heads.kv_heads = heads.query_heads;
  if (!keys.kv_heads.empty()) {
    heads.kv_heads = config.find_int(keys.kv_heads, 1, kMaxSize).value_or(heads.query_heads);
  }
  if (heads.query_heads % heads.kv_heads != 0) {
    throw BadFile(config.where(keys.kv_heads) + ": " + std::to_string(heads.query_heads) +
                  " query heads are not a multiple of " + std::to_string(heads.kv_heads) + " key/value heads");
  }
  const auto head_width = keys.head_width.empty() ? std::nullopt : config.find_int(keys.head_width, 1, kMaxSize);
  if (!head_width && width % heads.query_heads != 0) {
    throw BadFile(config.where(keys.width) + ": " + std::to_string(width) + " is not a multiple of the " +
                  std::to_string(heads.query_heads) + " heads");
  }
  heads.head_width = head_width.value_or(width / heads.query_heads);
  return heads;
}

void read_architecture(const JsonObject& config, const Family& family, TransformerConfig& result) {
  const nlohmann::json* names = config.find_array("architectures");
  if (names == nullptr || names->empty()) return;
  if (!names->front().is_string()) throw BadFile(config.where("architectures") + " must hold names");
  result.architecture = names->front().get<std::string>();
  for (const ArchitectureEntry& known : family.architectures) {
    if (known.name != result.architecture) continue;
    result.pooler = known.pooler;
    result.language_head = known.language_head;
    return;
  }
  throw UnsupportedModel(config.where("architectures") + ": architecture " + format::quote(result.architecture) +
                         " of " + std::string(family.model_type) + " models cannot be run");
}

void check_fixed_keys(const JsonObject& config, const Family& family) {
  for (const FixedKey& fixed : family.fixed_keys) {
    if (!config.has(fixed.key)) continue;
    const nlohmann::json& value = config.value().at(std::string(fixed.key));
    if (value == nlohmann::json::parse(fixed.json)) continue;
    throw UnsupportedModel(config.where(fixed.key) + ": " +
                           format::quote(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) +
                           " is not supported (only " + std::string(fixed.json) + " is)");
  }
}

bool is_used(const SizeKeys& keys, std::string_view key) {
  const std::string_view used[] = {keys.width,        keys.layers,          keys.query_heads,   keys.kv_heads,
                                   keys.head_width,   keys.inner_width,     keys.max_positions, keys.token_types,
                                   keys.norm_epsilon, keys.activation,      "vocab_size",       "model_type",
                                   "architectures",   "tie_word_embeddings"};
  return std::ranges::find(used, key) != std::end(used);
}

std::vector<std::string> find_unknown_keys(const JsonObject& config, const Family& family) {
  std::vector<std::string> unknown;
  for (const auto& item : config.value().items()) {
    const std::string& key = item.key();
    const bool known = is_used(family.keys, key) ||
                       std::ranges::find(family.idle_keys, key) != family.idle_keys.end() ||
                       std::ranges::find(family.fixed_keys, key, &FixedKey::key) != family.fixed_keys.end();
    if (!known) unknown.push_back(key);
  }
  return unknown;
}

float read_epsilon(const JsonObject& config, std::string_view key) {
  const double epsilon = config.find_number(key).value_or(1e-12);
  if (!(epsilon >= 0 && epsilon < 1)) throw BadFile(config.where(key) + " must be a number from 0 to 1");
  return static_cast<float>(epsilon);
}

}  // namespace

TransformerConfig parse_config(std::string_view json, std::string_view name) {
  const nlohmann::json root = format::parse_json(json, name);
  const JsonObject config(root, name);
  const Family& family = find_runnable_family(config.require_string("model_type"), name);
  const SizeKeys& keys = family.keys;
  check_fixed_keys(config, family);

  TransformerConfig result;
  result.family = family.model_type;
  read_architecture(config, family, result);
  const HeadSizes heads = read_heads(config, keys);
  result.query_heads = heads.query_heads;
  result.kv_heads = heads.kv_heads;
  result.head_width = heads.head_width;
  result.width = config.require_int(keys.width, 1, kMaxSize);
  result.vocabulary = config.require_int("vocab_size", 1, kMaxVocabulary);
  result.layers = config.require_int(keys.layers, 1, kMaxLayers);
  result.inner_width = config.require_int(keys.inner_width, 1, kMaxSize);
  result.max_positions = config.require_int(keys.max_positions, 1, kMaxSize);
  result.token_types = config.find_int(keys.token_types, 0, kMaxSize).value_or(2);
  result.norm_epsilon = read_epsilon(config, keys.norm_epsilon);
  result.activation = read_activation(config, keys.activation);
  result.tied_embeddings = config.find_bool("tie_word_embeddings").value_or(family.tied_by_default);
  result.unknown_keys = find_unknown_keys(config, family);
  return result;
}

HeadSizes parse_head_sizes(std::string_view json, std::string_view name) {
  const nlohmann::json root = format::parse_json(json, name);
  const JsonObject config(root, name);
  return read_heads(config, find_family(config.require_string("model_type"), name).keys);
}

bool tied_by_default(std::string_view model_type) { return find_family(model_type, "model").tied_by_default; }

OutputMatrix choose_output_matrix(bool tied, StoredOutput stored, std::string_view file) {
  if (tied) return OutputMatrix::embedding;
  if (stored != StoredOutput::absent) return OutputMatrix::own;
  throw BadFile(std::string(file) +
                ": the output matrix is missing, and the embeddings are not tied to stand in for it");
}

}  // namespace sightline::model
