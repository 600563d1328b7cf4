#ifndef SIGHTLINE_MODEL_PRUNED_LAYER_H_
#define SIGHTLINE_MODEL_PRUNED_LAYER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sightline/attention.h"
#include "sightline/context.h"
#include "sightline/transformer_config.h"
#include "src/cache/kept_rows.h"

namespace sightline::model {

/// What all layers of a context that drops keys have in common.
struct PruningSizes {
  DropRule rule;
  DType keys = DType::f32, values = DType::f32;
  std::int64_t query_heads = 0, kv_heads = 0, width = 0;
  std::int64_t room = 0;    // tokens of the whole text
  std::int64_t length = 0;  // tokens when keys begin to go
  bool audit = false;       // keep evicted keys aside
};

/// The keys that are left in a layer: of each key/value head as many, perhaps others. A row that is added takes a slot
/// behind them, and counts with commit(); until then nothing else has changed.
///
/// Slots fill in the order of the text. A key that goes from the front moves no other; into a hole goes the newest key.
/// So where each head has lost nothing but its oldest keys, blocks of keys are summed as without dropping, bit by bit.
class PrunedLayer {
 public:
  /// `window`: keys that a row of this layer sees, its own counted; 0: all. `source`: the layer with all its keys, in
  /// pages; mass [kv heads, length] what each has received. Fills `drops`, of each head. Throws OutOfMemory.
  PrunedLayer(const PruningSizes& sizes, std::int64_t window, const AttentionProblem& source,
              std::span<const double> mass, std::span<HeadDrops> drops);

  /// Puts the key and the value [1, kv heads, 1, width] of the next row, which stands at `position`, behind the others.
  /// Throws BadArgument for what a packed type does not hold.
  void write(const TensorView& key, const TensorView& value, std::int64_t position);
  /// Lets `problem`, whose q is set, read all keys and the new one.
  void bind(AttentionProblem& problem);
  /// Where they stand, [kv heads, keys and the new one].
  std::span<const std::int32_t> seen_positions() const { return seen_; }

  /// Asks for what is needed of the row.
  void watch(Observations& see);
  /// Takes it, after attention(); `options` are those of that call.
  void take(const AttentionProblem& problem, const Observations& see, const AttentionOptions& options);

  /// The new row is there: counts it, and lets one key of each head go, if it is one too many or no later row sees it.
  void commit(std::span<HeadDrops> drops, std::span<HeadAudit> audits) noexcept;

  std::int64_t bytes() const;  // without what is kept aside
  /// Bytes that a layer takes at most, with what is kept aside.
  static std::int64_t bytes(const PruningSizes& sizes, std::int64_t window);

 private:
  // Evicted keys, for the audit.
  struct Aside {
    cache::KeptRows keys;
    std::vector<std::int32_t> positions;  // [kv heads, slots]
    std::int64_t count = 0;
  };
  // A key that goes.
  struct Going {
    std::int64_t index = -1;  // from begin_; -1: none does
    bool evicted = false;     // not just out of the window
  };

  float* room_for_weights();
  void fill(const AttentionProblem& source, std::span<const double> mass, std::span<HeadDrops> drops);
  void fill_head(const AttentionProblem& source, std::int64_t head, std::span<const double> mass, HeadDrops& drops);
  void count_row(std::span<HeadDrops> drops, std::span<HeadAudit> audits) noexcept;
  Going going_of(std::int64_t head) const noexcept;
  void put_aside() noexcept;
  void remove_going() noexcept;
  void close_gap() noexcept;
  void audit(const AttentionProblem& problem, const AttentionOptions& options);
  void mask_aside(AttentionProblem& problem);

  std::int32_t* positions(std::int64_t head) { return positions_.data() + head * keys_.slots() + begin_; }
  const std::int32_t* positions(std::int64_t head) const { return positions_.data() + head * keys_.slots() + begin_; }
  double* mass(std::int64_t head) { return mass_.data() + head * keys_.slots() + begin_; }
  const double* mass(std::int64_t head) const { return mass_.data() + head * keys_.slots() + begin_; }

  PruningSizes sizes_;
  std::int64_t window_;
  cache::KeptRows keys_, values_;
  std::int64_t begin_ = 0, count_ = 0;   // slots in use, in all heads the same
  std::vector<std::int32_t> positions_;  // [kv heads, slots]
  std::vector<double> mass_;             // [kv heads, slots] weight received, over the head's query heads
  std::optional<Aside> aside_;
  std::vector<Going> going_;  // [kv heads]

  // Of the row under way.
  std::int64_t position_ = 0;
  SequenceSpan span_;
  std::vector<std::int32_t> seen_;           // [kv heads, count_ + 1]
  std::vector<float> weights_;               // [query heads, count_ + 1]
  std::vector<float> lse_, lse_of_evicted_;  // [query heads]
  std::vector<double> missed_;               // [query heads] what the evicted keys would have got
  std::vector<std::uint8_t> mask_;           // [query heads, evicted keys]
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_PRUNED_LAYER_H_
