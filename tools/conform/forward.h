#ifndef SIGHTLINE_TOOLS_CONFORM_FORWARD_H_
#define SIGHTLINE_TOOLS_CONFORM_FORWARD_H_

#include <string_view>
#include <vector>

#include "src/model/transformer.h"
#include "tools/conform/arrays.h"

namespace sightline::conform {

/// A padded batch of a reference file, taken apart into its real tokens. Padding is on the right.
class Batch {
 public:
  /// [batch, length] each; `types` may be null.
  Batch(const format::Tensor& ids, const format::Tensor& mask, const format::Tensor* types);

  std::vector<model::TokenSequence> sequences() const;
  std::int64_t length(std::size_t sequence) const { return static_cast<std::int64_t>(ids_[sequence].size()); }
  std::size_t size() const { return ids_.size(); }
  const std::vector<std::int32_t>& ids(std::size_t sequence) const { return ids_[sequence]; }

  /// Of [batch, length, width] the rows of real tokens, one after the other: [rows, width].
  Array real_rows(const Array& padded) const;

 private:
  std::vector<std::vector<std::int32_t>> ids_, types_;
};

/// A forward pass and the maps seen in it.
struct Forward {
  model::ForwardResult result;
  std::vector<std::vector<Array>> maps;  // [layer][sequence] of [heads, tokens, tokens]
};
Forward run_forward(const model::Transformer& transformer, const Batch& batch, bool want_logits);

/// Compares one layer's maps with [batch, heads, length, length], real rows and keys only.
void check_maps(std::string_view what, const std::vector<Array>& maps, const Batch& batch, const Array& expected,
                double tolerance);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_FORWARD_H_
