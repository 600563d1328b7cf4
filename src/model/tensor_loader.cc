#include "src/model/tensor_loader.h"

#include <fmt/format.h>

#include <algorithm>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/tensor/blocks.h"

namespace sightline::model {
namespace {

constexpr std::size_t kNamesShown = 8;  // of tensors in a message

std::string list_some(const std::vector<std::string>& items) {
  std::string list;
  for (std::size_t i = 0; i < std::min(items.size(), kNamesShown); ++i) list += (i == 0 ? "" : ", ") + items[i];
  if (items.size() > kNamesShown) list += fmt::format(" and {} more", items.size() - kNamesShown);
  return list;
}

// Not fmt::join, in which GCC 12 warns of an overflow that cannot be.
std::string shape_text(const TensorShape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

TensorLoader::TensorLoader(Weights& weights, const NameMap& names, const TransformerConfig& config)
    : weights_(weights), names_(names), config_(config) {
  for (const std::string& stored : weights.checkpoint.names()) {
    const std::string canonical = canonical_name(names, stored);
    if (canonical.empty()) continue;
    const auto [place, added] = stored_names_.emplace(canonical, stored);
    if (added) continue;
    throw BadFile(fmt::format("{}: tensors {} and {} are the same parameter", weights.checkpoint.name(),
                              format::quote(place->second), format::quote(stored)));
  }
}

const TensorShape& TensorLoader::shape(const std::string& name) {
  return weights_.checkpoint.at(stored_names_.at(name)).shape;
}

ops::WeightMatrix TensorLoader::matrix(const std::string& name, std::int64_t rows, std::int64_t cols, bool transposed) {
  const format::Tensor* tensor =
      find_weights(name, transposed ? TensorShape{cols, rows} : TensorShape{rows, cols}, transposed);
  if (tensor == nullptr) return {};
  return {tensor->bytes.data(), tensor->dtype, rows, cols, transposed};
}

float* TensorLoader::vector(const std::string& name, std::int64_t size) {
  const format::Tensor* tensor = find_values(name, {size});
  return tensor == nullptr ? nullptr : weights_.vectors.emplace_back(format::to_f32(*tensor)).data();
}

ops::Linear TensorLoader::linear(const std::string& name, std::int64_t out, std::int64_t in, Biases biases,
                                 bool transposed) {
  const std::string bias = name + ".bias";
  const bool biased = biases == Biases::all || (biases == Biases::as_stored && has(bias));
  return {matrix(name + ".weight", out, in, transposed), biased ? vector(bias, out) : nullptr};
}

ops::Norm TensorLoader::norm(const std::string& name, std::int64_t width) {
  ops::Norm norm;
  norm.centred = config_.norm == NormKind::layer_norm;
  norm.width = width;
  norm.epsilon = config_.norm_epsilon;
  float* scale = vector(name + ".weight", width);
  if (names_.ones_left_out && scale != nullptr) {
    std::for_each(scale, scale + width, [](float& value) { value += 1; });
  }
  norm.scale = scale;
  if (norm.centred) norm.shift = vector(name + ".bias", width);
  return norm;
}

std::vector<ops::WeightMatrix> TensorLoader::stacked_matrices(const std::string& name, std::int64_t rows,
                                                              std::int64_t cols, bool transposed) {
  const std::int64_t experts = config_.experts.count;
  const format::Tensor* tensor =
      find_weights(name, transposed ? TensorShape{experts, cols, rows} : TensorShape{experts, rows, cols}, transposed);
  std::vector<ops::WeightMatrix> matrices(static_cast<std::size_t>(experts));
  if (tensor == nullptr) return matrices;
  const std::size_t bytes = tensor->bytes.size() / matrices.size();
  for (std::size_t expert = 0; expert < matrices.size(); ++expert) {
    matrices[expert] = {tensor->bytes.data() + expert * bytes, tensor->dtype, rows, cols, transposed};
  }
  return matrices;
}

std::vector<const float*> TensorLoader::stacked_vectors(const std::string& name, std::int64_t size) {
  std::vector<const float*> vectors(static_cast<std::size_t>(config_.experts.count));
  const format::Tensor* tensor = find_values(name, {config_.experts.count, size});
  if (tensor == nullptr) return vectors;
  const float* values = weights_.vectors.emplace_back(format::to_f32(*tensor)).data();
  for (std::size_t expert = 0; expert < vectors.size(); ++expert) {
    vectors[expert] = values + static_cast<std::int64_t>(expert) * size;
  }
  return vectors;
}

void TensorLoader::pass_over(const std::string& name) {
  if (const auto stored = stored_names_.find(name); stored != stored_names_.end()) {
    weights_.checkpoint.find(stored->second);
  }
}

void TensorLoader::throw_if_incomplete() const {
  std::string what;
  if (!missing_.empty()) {
    what = fmt::format("{} missing: {}",
                       missing_.size() == 1 ? "a tensor is" : fmt::format("{} tensors are", missing_.size()),
                       list_some(missing_));
  }
  if (!misshapen_.empty()) {
    what +=
        fmt::format("{}{} not fit {}: {}", what.empty() ? "" : "; ",
                    misshapen_.size() == 1 ? "a tensor does" : fmt::format("{} tensors do", misshapen_.size()),
                    weights_.checkpoint.metadata() != nullptr ? "the metadata" : "config.json", list_some(misshapen_));
  }
  if (!what.empty()) throw BadFile(weights_.checkpoint.name() + ": " + what);
}

void TensorLoader::warn_about_unused() {
  std::vector<std::string> left;
  for (const std::string& stored : weights_.checkpoint.unused()) {
    const std::string name = canonical_name(names_, stored);
    if (!name.empty() && !starts_with_any(name, names_.unused_prefixes)) left.push_back(format::quote(stored));
  }
  if (left.empty()) return;
  weights_.warnings.push_back(
      left.size() == 1 ? fmt::format("a tensor of the file is not used: {}", left.front())
                       : fmt::format("{} tensors of the file are not used: {}", left.size(), list_some(left)));
}

const format::Tensor* TensorLoader::find(const std::string& name, const TensorShape& shape) {
  const auto stored = stored_names_.find(name);
  if (stored == stored_names_.end()) {
    missing_.push_back(format::quote(name) + " " + shape_text(shape));
    return nullptr;
  }
  const format::Tensor& tensor = weights_.checkpoint.at(stored->second);
  if (tensor.shape != shape) {
    misshapen_.push_back(fmt::format("{} has shape {} in place of {}", format::quote(stored->second),
                                     shape_text(tensor.shape), shape_text(shape)));
    return nullptr;
  }
  weights_.parameter_count += tensor.element_count();
  return &tensor;
}

const format::Tensor* TensorLoader::find_weights(const std::string& name, const TensorShape& shape, bool transposed) {
  const format::Tensor* tensor = find(name, shape);
  if (tensor == nullptr) return nullptr;
  const bool usable = transposed ? is_float(tensor->dtype) : is_weight_type(tensor->dtype);
  if (!usable) refuse_type(name, *tensor, "F32, F16, BF16 and the block types of GGUF");
  return tensor;
}

const format::Tensor* TensorLoader::find_values(const std::string& name, const TensorShape& shape) {
  const format::Tensor* tensor = find(name, shape);
  if (tensor != nullptr && !is_float(tensor->dtype)) refuse_type(name, *tensor, "F32, F16 and BF16");
  return tensor;
}

void TensorLoader::refuse_type(const std::string& name, const format::Tensor& tensor, const char* supported) const {
  throw UnsupportedModel(fmt::format("{}: tensor {} has elements of type {} ({} are supported)",
                                     weights_.checkpoint.name(), format::quote(stored_names_.at(name)),
                                     dtype_name(tensor.dtype), supported));
}

}  // namespace sightline::model
