#ifndef SIGHTLINE_MODEL_PROMPT_MASS_H_
#define SIGHTLINE_MODEL_PROMPT_MASS_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"
#include "sightline/transformer_config.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::model {

/// The weight that every key has received from all rows so far, while a context keeps all its keys: 16 sums a key and
/// query head (Observations::mass_sums), so that no piece of the text changes a bit of them.
class PromptMass {
 public:
  static constexpr std::int64_t kChains = 16;  // sums a key, as Observations::mass_sums has them

  /// Throws OutOfMemory.
  PromptMass(const TransformerConfig& config, std::int64_t room);

  /// Before a pass: `afresh` if it begins at position 0. Until complete() the sums are of no use, and the text has to
  /// go through from its beginning.
  void begin(bool afresh);
  void complete() noexcept { complete_ = true; }
  void invalidate() noexcept { complete_ = false; }
  bool is_complete() const { return complete_; }

  /// Asks for the sums of a layer within `see`; false where that asks for other sums over rows.
  bool watch(int layer, const AttentionProblem& problem, Observations& see);

  /// Of the first `keys` keys of a layer, over the query heads of each key/value head: [kv heads, keys].
  std::vector<double> received(int layer, std::int64_t keys) const;

  static std::int64_t bytes(const TransformerConfig& config, std::int64_t room);

 private:
  std::int64_t query_heads_, kv_heads_, room_;
  AlignedBuffer<float> sums_;    // [layers, query heads, 16, room]
  std::vector<float> key_mass_;  // what a pass says they come to, which nobody reads
  bool complete_ = true;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_PROMPT_MASS_H_
