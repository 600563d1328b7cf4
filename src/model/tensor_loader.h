#ifndef SIGHTLINE_MODEL_TENSOR_LOADER_H_
#define SIGHTLINE_MODEL_TENSOR_LOADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/config.h"
#include "src/model/family.h"
#include "src/model/weights.h"

namespace sightline::model {

using TensorShape = std::vector<std::int64_t>;

/// Finds tensors of a checkpoint by the names of a name map, whatever the file's spelling of them, and collects what is
/// missing or misshapen, so that one message can name all of it.
class TensorLoader {
 public:
  /// Throws BadFile where two tensors are the same parameter.
  TensorLoader(Weights& weights, const NameMap& names, const TransformerConfig& config);

  bool has(const std::string& name) const { return stored_names_.contains(name); }
  /// The shape of a tensor that is there.
  const TensorShape& shape(const std::string& name);

  /// A matrix with rows for outputs, stored as it is or, `transposed`, with columns for them.
  ops::WeightMatrix matrix(const std::string& name, std::int64_t rows, std::int64_t cols, bool transposed = false);
  /// A vector as fp32, or null where it is missing.
  float* vector(const std::string& name, std::int64_t size);
  /// `name`.weight and, by the rule, `name`.bias.
  ops::Linear linear(const std::string& name, std::int64_t out, std::int64_t in, Biases biases,
                     bool transposed = false);
  /// `name`.weight and, of a LayerNorm, `name`.bias.
  ops::Norm norm(const std::string& name, std::int64_t width);

  /// A 3-D tensor [experts, rows, cols] (transposed: [experts, cols, rows]) cut into matrices.
  std::vector<ops::WeightMatrix> stacked_matrices(const std::string& name, std::int64_t rows, std::int64_t cols,
                                                  bool transposed);
  /// A tensor [experts, size] as fp32 vectors, null where it is missing.
  std::vector<const float*> stacked_vectors(const std::string& name, std::int64_t size);

  /// Counts a tensor as used if it is there: a copy of another.
  void pass_over(const std::string& name);

  /// Throws BadFile with all that was missing or misshapen.
  void throw_if_incomplete() const;
  /// Adds one warning that names what was left over and is neither a buffer nor part of a head that is not run.
  void warn_about_unused();

 private:
  const format::Tensor* find(const std::string& name, const TensorShape& shape);
  const format::Tensor* find_weights(const std::string& name, const TensorShape& shape, bool transposed);
  const format::Tensor* find_values(const std::string& name, const TensorShape& shape);
  [[noreturn]] void refuse_type(const std::string& name, const format::Tensor& tensor, const char* supported) const;

  Weights& weights_;
  const NameMap& names_;
  const TransformerConfig& config_;
  std::map<std::string, std::string> stored_names_;  // by canonical name
  std::vector<std::string> missing_, misshapen_;     // described
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_TENSOR_LOADER_H_
