#ifndef SIGHTLINE_TOOLS_CONFORM_FORWARD_H_
#define SIGHTLINE_TOOLS_CONFORM_FORWARD_H_

#include <span>
#include <string_view>
#include <vector>

#include "sightline/transformer.h"
#include "tools/conform/arrays.h"

namespace sightline::conform {

/// A padded batch of a reference file, taken apart into its real tokens. Padding is on the left or on the right.
class Batch {
 public:
  /// [batch, length] each; without a mask all are real, `types` may be null.
  Batch(const format::Tensor& ids, const format::Tensor* mask, const format::Tensor* types);
  Batch(Batch&&) = default;
  Batch(const Batch&) = delete;  // sequences() point into it

  const std::vector<model::TokenSequence>& sequences() const { return sequences_; }
  std::size_t size() const { return sequences_.size(); }
  std::span<const std::int32_t> ids(std::size_t sequence) const { return sequences_[sequence].ids; }
  std::int64_t length(std::size_t sequence) const { return static_cast<std::int64_t>(ids(sequence).size()); }
  /// Where the first real token stands in its padded row.
  std::int64_t first(std::size_t sequence) const;

  /// Of [batch, length, width] the rows of real tokens, one after the other: [rows, width].
  Array real_rows(const Array& padded) const;

 private:
  std::int64_t padded_;  // length
  std::vector<std::int32_t> ids_, types_;
  std::vector<model::TokenSequence> sequences_;
};

/// What attention was given in a layer and gave, for each sequence.
struct SeenLayer {
  std::vector<Array> queries, keys, values;  // [heads, tokens, head width]
  std::vector<Array> maps;                   // [heads, tokens, tokens]
};

/// A forward pass and what was seen in it.
struct Forward {
  model::ForwardResult result;
  std::vector<SeenLayer> layers;
};
Forward run_forward(const model::Transformer& transformer, const Batch& batch, bool want_logits);

/// A bound relative to the largest expected value, if that is above 1: of logits and hidden states.
Tolerance of_largest(const Array& expected, double relative);

/// Compares queries, keys or values with [batch, heads, length, width], real rows only.
void check_heads(std::string_view what, const std::vector<Array>& heads, const Batch& batch, const Array& expected,
                 double tolerance);
/// Compares one layer's maps with [batch, heads, length, length], real rows and keys only.
void check_maps(std::string_view what, const std::vector<Array>& maps, const Batch& batch, const Array& expected,
                double tolerance);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_FORWARD_H_
