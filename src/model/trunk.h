#ifndef SIGHTLINE_MODEL_TRUNK_H_
#define SIGHTLINE_MODEL_TRUNK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/model/branch_keys.h"
#include "src/model/branches.h"
#include "src/model/transformer_impl.h"
#include "src/ops/rope.h"

namespace sightline::model {

/// The whole pass over a text, with all that its branches take from it.
struct Trunk {
  const TransformerConfig& config() const { return model->config; }
  std::int64_t tokens() const { return std::ssize(ids); }
  /// Rows [first, first + count) of what goes into a layer, or after the last one of what comes out, past the final
  /// norm.
  std::span<const float> rows(int layer, std::int64_t first, std::int64_t count) const {
    const auto width = static_cast<std::size_t>(config().width);
    return std::span(hidden_states[static_cast<std::size_t>(layer)])
        .subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(count) * width);
  }

  /// Rows whose last hidden state a branch gives, or needs for its logits.
  PositionRange asked_rows() const { return hidden_states_asked ? PositionRange{0, tokens()} : logit_rows; }

  const Transformer::Impl* model = nullptr;
  std::vector<std::int32_t> ids, type_ids;
  PositionRange logit_rows = {0, 0};  // within the text
  bool hidden_states_asked = true;    // of branches, all rows
  int threads = 0;

  std::vector<std::vector<float>> hidden_states;  // layers + 1 of [tokens, width]
  std::optional<BranchKeys> keys;
  std::vector<ops::RopeTable> ropes;
  std::vector<float> logits;  // [logit rows, vocabulary]
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_TRUNK_H_
