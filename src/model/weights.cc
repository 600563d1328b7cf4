#include "src/model/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/model/family.h"

namespace sightline::model {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::size_t kNamesShown = 8;  // of missing or left-over tensors in a message

std::string list_names(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    list += (i == 0 ? "" : ", ") + format::quote(names[i]);
  }
  if (names.size() > kNamesShown) list += fmt::format(" and {} more", names.size() - kNamesShown);
  return list;
}

// Not fmt::join, in which GCC 12 warns of an overflow that cannot be.
std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Looks tensors up by canonical name and collects what is missing, so that one message can name all of it.
class Loader {
 public:
  Loader(Weights& weights, const Family& family) : weights_(weights), family_(family) {
    for (const std::string& stored : weights.checkpoint.names()) {
      const std::string canonical = canonical_name(family, stored);
      if (canonical.empty()) continue;
      const auto [place, added] = stored_names_.emplace(canonical, stored);
      if (!added) {
        throw BadFile(fmt::format("{}: tensors {} and {} are the same parameter", weights.checkpoint.name(),
                                  format::quote(place->second), format::quote(stored)));
      }
    }
  }

  bool has(const std::string& name) const { return stored_names_.contains(name); }

  ops::WeightMatrix matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    const format::Tensor* tensor = find(name, {rows, cols});
    if (tensor == nullptr) return {};
    return {tensor->bytes.data(), tensor->dtype, rows, cols};
  }

  const float* vector(const std::string& name, std::int64_t size) {
    const format::Tensor* tensor = find(name, {size});
    if (tensor == nullptr) return nullptr;
    return weights_.vectors.emplace_back(format::to_f32(*tensor)).data();
  }

  ops::Linear linear(const std::string& name, std::int64_t out, std::int64_t in) {
    return {matrix(name + ".weight", out, in), vector(name + ".bias", out)};
  }

  ops::LayerNorm norm(const std::string& name, const TransformerConfig& config) {
    return {vector(name + ".weight", config.width), vector(name + ".bias", config.width), config.width,
            config.norm_epsilon};
  }

  // Counts a tensor as used if it is there: a copy of another.
  void pass_over(const std::string& name) {
    if (const auto stored = stored_names_.find(name); stored != stored_names_.end())
      weights_.checkpoint.find(stored->second);
  }

  void throw_if_missing() const {
    if (missing_.empty()) return;
    throw BadFile(fmt::format("{}: {} missing: {}", weights_.checkpoint.name(),
                              missing_.size() == 1 ? "a tensor is" : fmt::format("{} tensors are", missing_.size()),
                              list_names(missing_)));
  }

  void warn_about_unused() {
    std::vector<std::string> left;
    for (const std::string& stored : weights_.checkpoint.unused()) {
      const std::string name = canonical_name(family_, stored);
      if (!name.empty() && !starts_with_any(name, family_.names->unused_prefixes)) left.push_back(stored);
    }
    if (left.empty()) return;
    weights_.warnings.push_back(fmt::format("{} tensor{} of the file not used: {}", left.size(),
                                            left.size() == 1 ? " is" : "s are", list_names(left)));
  }

 private:
  const format::Tensor* find(const std::string& name, const Shape& shape) {
    const auto stored = stored_names_.find(name);
    if (stored == stored_names_.end()) {
      missing_.push_back(name);
      return nullptr;
    }
    const format::Tensor& tensor = weights_.checkpoint.at(stored->second);
    check(stored->second, tensor, shape);
    weights_.parameter_count += tensor.element_count();
    return &tensor;
  }

  void check(const std::string& stored, const format::Tensor& tensor, const Shape& shape) const {
    const auto where = [&] { return fmt::format("{}: tensor {}", weights_.checkpoint.name(), format::quote(stored)); };
    if (tensor.shape != shape) {
      throw BadFile(fmt::format("{} has shape {}, config.json asks for {}", where(), shape_text(tensor.shape),
                                shape_text(shape)));
    }
    if (tensor.dtype != DType::f32 && tensor.dtype != DType::f16 && tensor.dtype != DType::bf16) {
      throw UnsupportedModel(fmt::format("{} has elements of type {} (F32, F16 and BF16 are supported)", where(),
                                         dtype_name(tensor.dtype)));
    }
  }

  Weights& weights_;
  const Family& family_;
  std::map<std::string, std::string> stored_names_;  // by canonical name
  std::vector<std::string> missing_;
};

LayerWeights load_layer(Loader& loader, const NameMap& names, const TransformerConfig& config, std::int64_t layer) {
  const auto name = [layer](std::string_view pattern) { return fmt::format(fmt::runtime(pattern), layer); };
  const std::int64_t width = config.width, queries = config.query_heads * config.head_width,
                     keys = config.kv_heads * config.head_width;
  LayerWeights weights;
  weights.query = loader.linear(name(names.query), queries, width);
  weights.key = loader.linear(name(names.key), keys, width);
  weights.value = loader.linear(name(names.value), keys, width);
  weights.attention_output = loader.linear(name(names.attention_output), width, queries);
  weights.attention_norm = loader.norm(name(names.attention_norm), config);
  weights.mlp_up = loader.linear(name(names.mlp_up), config.inner_width, width);
  weights.mlp_down = loader.linear(name(names.mlp_down), width, config.inner_width);
  weights.mlp_norm = loader.norm(name(names.mlp_norm), config);
  return weights;
}

std::string weight_name(std::string_view name) { return std::string(name) + ".weight"; }

bool same_values(const ops::WeightMatrix& a, const ops::WeightMatrix& b) {
  return a.dtype == b.dtype && std::equal(a.data, a.data + a.rows * a.row_bytes(), b.data);
}

// The output matrix: the word embedding, or the file's own.
ops::WeightMatrix load_output_matrix(Loader& loader, const NameMap& names, const TransformerConfig& config,
                                     Weights& weights) {
  const std::string name = weight_name(names.head_output);
  ops::WeightMatrix own;
  StoredOutput stored = StoredOutput::absent;
  if (loader.has(name)) {
    const std::int64_t counted = weights.parameter_count;
    own = loader.matrix(name, config.vocabulary, config.width);
    const bool comparable = config.tied_embeddings && weights.word_embedding.data != nullptr;
    stored = comparable && same_values(own, weights.word_embedding) ? StoredOutput::equal : StoredOutput::different;
    if (config.tied_embeddings) weights.parameter_count = counted;
  }
  if (choose_output_matrix(config.tied_embeddings, stored, weights.checkpoint.name()) == OutputMatrix::own) return own;
  if (stored == StoredOutput::different) {
    weights.warnings.push_back(
        fmt::format("{} differs from the word embedding, which config.json ties it to: the embedding is used",
                    format::quote(name)));
  }
  return weights.word_embedding;
}

LanguageHead load_language_head(Loader& loader, const NameMap& names, const TransformerConfig& config,
                                Weights& weights) {
  LanguageHead head;
  head.dense = loader.linear(std::string(names.head_dense), config.width, config.width);
  head.norm = loader.norm(std::string(names.head_norm), config);
  head.output.weight = load_output_matrix(loader, names, config, weights);
  // Newer files store the bias a second time beside the output matrix, or only there.
  const std::string beside = std::string(names.head_output) + ".bias", own(names.head_bias);
  head.output.bias = loader.vector(loader.has(own) || !loader.has(beside) ? own : beside, config.vocabulary);
  loader.pass_over(beside);
  return head;
}

void load_embeddings(Loader& loader, const NameMap& names, const TransformerConfig& config, Weights& weights) {
  const auto matrix = [&](std::string_view name, std::int64_t rows) {
    return loader.matrix(weight_name(name), rows, config.width);
  };
  weights.word_embedding = matrix(names.word_embedding, config.vocabulary);
  weights.position_embedding = matrix(names.position_embedding, config.max_positions);
  if (config.token_types > 0) weights.token_type_embedding = matrix(names.token_type_embedding, config.token_types);
  weights.embedding_norm = loader.norm(std::string(names.embedding_norm), config);
}

}  // namespace

Weights load_weights(const std::filesystem::path& directory, TransformerConfig& config) {
  const Family& family = find_runnable_family(config.family, directory.string());
  const NameMap& names = *family.names;
  Weights weights;
  weights.checkpoint = format::Checkpoint::open(directory);
  Loader loader(weights, family);
  load_embeddings(loader, names, config, weights);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    weights.layers.push_back(load_layer(loader, names, config, layer));
  }
  const bool expects_pooler = config.pooler;
  config.pooler = loader.has(weight_name(names.pooler));
  if (config.pooler) weights.pooler = loader.linear(std::string(names.pooler), config.width, config.width);
  config.language_head = config.language_head || loader.has(weight_name(names.head_dense));
  if (config.language_head) weights.language_head = load_language_head(loader, names, config, weights);
  loader.throw_if_missing();
  loader.warn_about_unused();
  if (expects_pooler && !config.pooler)
    weights.warnings.push_back("the file holds no pooler: there will be no pooled output");
  return weights;
}

}  // namespace sightline::model
