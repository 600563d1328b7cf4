#include "src/model/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/model/family.h"
#include "src/model/tensor_loader.h"

namespace sightline::model {
namespace {

std::string weight_name(std::string_view name) { return std::string(name) + ".weight"; }

// What loading takes along: where tensors are looked up, what the names are, and what they go into.
struct Loading {
  TensorLoader loader;
  const NameMap& names;
  TransformerConfig& config;
  Weights& weights;
};

// One layer, by the names of its group.
class LayerLoading {
 public:
  LayerLoading(Loading& loading, std::int64_t group)
      : loader_(loading.loader), names_(loading.names), config_(loading.config), group_(group) {}

  LayerWeights load() {
    LayerWeights layer;
    layer.attention_norm = norm(names_.attention_norm, config_.width);
    layer.attention_post_norm = norm(names_.attention_post_norm, config_.width);
    layer.attention = attention();
    layer.mlp_norm = norm(names_.mlp_norm, config_.width);
    layer.mlp_post_norm = norm(names_.mlp_post_norm, config_.width);
    if (config_.mlp == MlpKind::experts) {
      layer.router = loader_.linear(name(names_.router), config_.experts.count, config_.width, config_.biases.mlp);
      layer.experts = experts();
    } else {
      layer.mlp = mlp();
    }
    return layer;
  }

 private:
  std::string name(std::string_view pattern) const { return fmt::format(fmt::runtime(pattern), group_); }

  ops::Norm norm(std::string_view pattern, std::int64_t width) {
    return pattern.empty() ? ops::Norm{} : loader_.norm(name(pattern), width);
  }

  ops::Linear linear(std::string_view pattern, std::int64_t out, std::int64_t in, Biases biases) {
    return loader_.linear(name(pattern), out, in, biases, names_.transposed);
  }

  AttentionWeights attention() {
    const std::int64_t width = config_.width, queries = config_.query_heads * config_.head_width,
                       keys = config_.kv_heads * config_.head_width;
    const Biases biases = config_.biases.attention_input;
    AttentionWeights weights;
    weights.layout = names_.heads;
    if (weights.layout == HeadLayout::separate) {
      weights.query = linear(names_.query, queries, width, biases);
      weights.key = linear(names_.key, keys, width, biases);
      weights.value = linear(names_.value, keys, width, biases);
    } else {
      weights.fused = linear(names_.fused_heads, queries + 2 * keys, width, biases);
    }
    if (config_.query_key_norm) {
      weights.query_norm = norm(names_.query_norm, config_.head_width);
      weights.key_norm = norm(names_.key_norm, config_.head_width);
    }
    if (config_.sinks) weights.sinks = loader_.vector(name(names_.sinks), config_.query_heads);
    weights.output = linear(names_.attention_output, width, queries, config_.biases.attention_output);
    return weights;
  }

  MlpWeights mlp() {
    const std::int64_t width = config_.width, inner = config_.inner_width;
    const Biases biases = config_.biases.mlp;
    MlpWeights weights;
    weights.layout = names_.gates;
    if (weights.layout == GateLayout::separate) {
      if (config_.mlp == MlpKind::gated) weights.gate = linear(names_.gate, inner, width, biases);
      weights.up = linear(names_.up, inner, width, biases);
    } else {
      weights.fused = linear(names_.fused_gates, 2 * inner, width, biases);
    }
    weights.down = linear(names_.down, width, inner, biases);
    return weights;
  }

  std::vector<ops::Linear> stacked(std::string_view pattern, std::int64_t out, std::int64_t in) {
    const std::string base = name(pattern), bias = base + std::string(names_.expert_bias);
    const auto matrices =
        loader_.stacked_matrices(base + std::string(names_.expert_weight), out, in, names_.transposed_experts);
    const bool biased =
        config_.biases.mlp == Biases::all || (config_.biases.mlp == Biases::as_stored && loader_.has(bias));
    const auto biases =
        biased ? loader_.stacked_vectors(bias, out) : std::vector<const float*>(matrices.size(), nullptr);
    std::vector<ops::Linear> layers;
    for (std::size_t expert = 0; expert < matrices.size(); ++expert) {
      layers.push_back({matrices[expert], biases[expert]});
    }
    return layers;
  }

  std::vector<MlpWeights> experts() {
    const std::int64_t width = config_.width, inner = config_.inner_width;
    const bool separate = names_.gates == GateLayout::separate;
    std::vector<ops::Linear> gate, up, fused;
    if (separate) {
      gate = stacked(names_.gate, inner, width);
      up = stacked(names_.up, inner, width);
    } else {
      fused = stacked(names_.fused_gates, 2 * inner, width);
    }
    const std::vector<ops::Linear> down = stacked(names_.down, width, inner);
    std::vector<MlpWeights> experts(down.size());
    for (std::size_t expert = 0; expert < experts.size(); ++expert) {
      experts[expert].layout = names_.gates;
      if (separate) {
        experts[expert].gate = gate[expert];
        experts[expert].up = up[expert];
      } else {
        experts[expert].fused = fused[expert];
      }
      experts[expert].down = down[expert];
    }
    return experts;
  }

  TensorLoader& loader_;
  const NameMap& names_;
  const TransformerConfig& config_;
  std::int64_t group_;
};

void load_embeddings(Loading& loading) {
  TensorLoader& loader = loading.loader;
  const NameMap& names = loading.names;
  TransformerConfig& config = loading.config;
  Weights& weights = loading.weights;
  const std::int64_t width = config.embedding_width;
  const std::string words = weight_name(names.word_embedding);
  if (config.vocabulary == 0 && loader.has(words) && loader.shape(words).size() == 2) {
    config.vocabulary = loader.shape(words)[0];
  }
  weights.word_embedding = loader.matrix(words, config.vocabulary, width);
  if (config.position_embedding) {
    weights.position_embedding =
        loader.matrix(weight_name(names.position_embedding), config.position_offset + config.max_positions, width);
  }
  if (config.token_types > 0) {
    weights.token_type_embedding = loader.matrix(weight_name(names.token_type_embedding), config.token_types, width);
  }
  if (config.embedding_norm) weights.embedding_norm = loader.norm(std::string(names.embedding_norm), width);
  if (!names.embedding_projection.empty()) {
    weights.embedding_projection =
        loader.linear(std::string(names.embedding_projection), config.width, width, Biases::all);
  }
}

// Factors of the rope that GGUF files keep as tensors; null where there are none.
std::optional<std::vector<float>> load_rope_factors(Loading& loading, std::string_view name) {
  const format::Tensor* tensor = loading.weights.checkpoint.find(name);
  if (tensor == nullptr) return std::nullopt;
  const std::string where = loading.weights.checkpoint.name() + ": tensor " + format::quote(name);
  std::vector<float> factors = format::to_f32(*tensor, where);
  const std::int64_t pairs = loading.config.ropes.front().width / 2;
  if (std::ssize(factors) != pairs) {
    throw BadFile(fmt::format("{} has {} factors, positions turn {} pairs of elements", where, factors.size(), pairs));
  }
  for (const float factor : factors) check_positive(factor, where);
  return factors;
}

// A file that says longrope and brings no factors would run with plain positions.
void require_no_longrope(const Loading& loading) {
  const format::GgufMetadata& metadata = *loading.weights.checkpoint.metadata();
  const std::string key = loading.config.architecture + ".rope.scaling.type";
  if (metadata.find_string(key) != "longrope") return;
  throw BadFile(metadata.where(key) +
                " is longrope, but there are no rope_factors_short.weight and "
                "rope_factors_long.weight");
}

// rope_freqs divides the frequencies at any length; rope_factors_short does up to the original length,
// rope_factors_long beyond.
void load_rope_tensors(Loading& loading) {
  auto divisors = load_rope_factors(loading, "rope_freqs.weight");
  const auto short_factors = load_rope_factors(loading, "rope_factors_short.weight");
  const auto long_factors = load_rope_factors(loading, "rope_factors_long.weight");
  if (!divisors && !short_factors && !long_factors) return require_no_longrope(loading);
  Rope& rope = loading.config.ropes.front();
  if (rope.scaling != RopeScaling::none && !(divisors && rope.scaling == RopeScaling::linear)) {
    throw UnsupportedModel(loading.weights.checkpoint.name() +
                           ": factors of rotary positions beside a rope.scaling.type are not supported");
  }
  if (divisors) {
    for (float& divisor : *divisors) divisor *= static_cast<float>(rope.factor);
    rope.factor = 1;
    rope.scaling = RopeScaling::divisors;
    rope.divisors = std::move(*divisors);
    return;
  }
  if (!short_factors || !long_factors) {
    throw BadFile(loading.weights.checkpoint.name() +
                  ": rope_factors_short.weight and rope_factors_long.weight must both be there");
  }
  rope.scaling = RopeScaling::longrope;
  rope.short_factors.assign(short_factors->begin(), short_factors->end());
  rope.long_factors.assign(long_factors->begin(), long_factors->end());
  rope.attention_factor = rope.attention_factor.value_or(1);
}

bool same_values(const ops::WeightMatrix& a, const ops::WeightMatrix& b) {
  return a.dtype == b.dtype && std::memcmp(a.data, b.data, static_cast<std::size_t>(a.rows * a.row_bytes())) == 0;
}

// The output matrix: the word embedding, or the file's own.
ops::WeightMatrix load_output_matrix(Loading& loading) {
  TransformerConfig& config = loading.config;
  Weights& weights = loading.weights;
  const std::string name = weight_name(loading.names.head_output);
  const bool is_stored = loading.loader.has(name);
  if (weights.checkpoint.metadata() != nullptr) config.tied_embeddings = !is_stored;  // GGUF has no key for it
  ops::WeightMatrix own;
  StoredOutput stored = StoredOutput::absent;
  if (is_stored) {
    const std::int64_t counted = weights.parameter_count;
    own = loading.loader.matrix(name, config.vocabulary, config.embedding_width);
    const bool comparable = config.tied_embeddings && own.data != nullptr && weights.word_embedding.data != nullptr;
    stored = comparable && same_values(own, weights.word_embedding) ? StoredOutput::equal : StoredOutput::different;
    if (config.tied_embeddings) weights.parameter_count = counted;
  }
  loading.loader.throw_if_incomplete();  // so that a missing output matrix does not hide the rest
  if (choose_output_matrix(config.tied_embeddings, stored, weights.checkpoint.name()) == OutputMatrix::own) return own;
  if (stored == StoredOutput::different) {
    weights.warnings.push_back(
        fmt::format("{} differs from the word embedding, which config.json ties it to: the embedding is used",
                    format::quote(name)));
  }
  return weights.word_embedding;
}

// Newer files of BERT's kind store the bias a second time beside the output matrix, or only there.
const float* load_output_bias(Loading& loading) {
  const std::string beside = std::string(loading.names.head_output) + ".bias", own(loading.names.head_bias);
  TensorLoader& loader = loading.loader;
  const float* bias = loader.vector(loader.has(own) || !loader.has(beside) ? own : beside, loading.config.vocabulary);
  loader.pass_over(beside);
  return bias;
}

void load_language_head(Loading& loading) {
  const NameMap& names = loading.names;
  TransformerConfig& config = loading.config;
  const bool transform = !names.head_dense.empty();
  if (loading.loader.has(weight_name(transform ? names.head_dense : names.head_output))) {
    config.language_head = transform ? LanguageHead::transform : LanguageHead::output;
  }
  if (config.language_head == LanguageHead::none) return;
  LanguageHeadWeights& head = loading.weights.language_head.emplace();
  if (transform) {
    head.dense =
        loading.loader.linear(std::string(names.head_dense), config.embedding_width, config.width, Biases::all);
    head.norm = loading.loader.norm(std::string(names.head_norm), config.embedding_width);
  }
  head.output.weight = load_output_matrix(loading);
  if (transform) head.output.bias = load_output_bias(loading);
}

void load_pooler(Loading& loading) {
  const bool expected = loading.config.pooler;
  const std::string_view name = loading.names.pooler;
  loading.config.pooler = !name.empty() && loading.loader.has(weight_name(name));
  if (loading.config.pooler) {
    loading.weights.pooler =
        loading.loader.linear(std::string(name), loading.config.width, loading.config.width, Biases::all);
  } else if (expected) {
    loading.weights.warnings.push_back("the file holds no pooler: there will be no pooled output");
  }
}

}  // namespace

Weights load_weights(format::Checkpoint checkpoint, TransformerConfig& config) {
  const Family& family = find_family(config.family, checkpoint.name());
  Weights weights;
  weights.checkpoint = std::move(checkpoint);
  if (weights.checkpoint.names().empty()) {
    throw BadFile(weights.checkpoint.name() + " holds no tensors: a tokenizer alone is no model that can be run");
  }
  const NameMap& names = weights.checkpoint.metadata() != nullptr ? *family.gguf_names : *family.names;
  Loading loading{TensorLoader(weights, names, config), names, config, weights};
  if (weights.checkpoint.metadata() != nullptr && !config.ropes.empty()) load_rope_tensors(loading);
  load_embeddings(loading);
  for (std::int64_t group = 0; group < config.layer_groups; ++group) {
    weights.groups.push_back(LayerLoading(loading, group).load());
  }
  if (config.final_norm) weights.final_norm = loading.loader.norm(std::string(names.final_norm), config.width);
  load_pooler(loading);
  load_language_head(loading);
  loading.loader.throw_if_incomplete();
  loading.loader.warn_about_unused();
  return weights;
}

}  // namespace sightline::model
