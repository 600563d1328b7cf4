#ifndef SIGHTLINE_MODEL_BRANCHES_H_
#define SIGHTLINE_MODEL_BRANCHES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sightline/transformer.h"

namespace sightline::model {

struct Trunk;

/// One more pass over a text, with edges taken out. `sequence` of a knock-out is not read.
struct Branch {
  std::vector<KnockOut> knock_outs;
};

struct BranchOptions {
  int threads = 0;
  Progress* progress = nullptr;       // told of layers of branches; false ends a run with Cancelled
  PositionRange logit_rows = {0, 0};  // rows that get logits; BadArgument where the file has no head for them
  bool hidden_states = true;          // false: branches give logits alone, and other rows end in the last layer's keys
};

/// What the rows of a batch of branches take: enough of them for linear layers to take each weight from memory for
/// many.
inline constexpr std::int64_t kBranchBatchBytes = std::int64_t{64} << 20;

/// Bytes that Branches keeps of a text of so many tokens: what goes into each layer and comes out of the last, keys and
/// values with room for those of a branch, cosines and sines of ropes. Logits come beside it.
std::int64_t branch_trunk_bytes(const TransformerConfig& config, std::int64_t tokens);

/// What came of a pass, while its reader is told of it.
struct BranchResult {
  std::int64_t first_row = 0;  // rows before it are those of the whole pass
  // [tokens - first_row, width], after the final norm if the model has one; empty where it was not asked for
  std::span<const float> hidden_state;
  std::span<const float> logits;  // [logit rows, vocabulary]
};

/// Floating-point operations, a multiplication and an addition being two: those of linear layers and of attention over
/// the pairs that rows see. Norms and activations are not counted.
struct BranchWork {
  double done = 0;   // by the whole pass and the branches
  double naive = 0;  // what a whole pass a branch would have taken
  double ratio() const { return done > 0 ? naive / done : 1; }
};

/// Passes over one text that differ in a few edges. What a knock-out leaves alone is not computed again: the layers
/// below the first one that it is in, of that layer all but the rows that it cuts (which
/// the layer above projects once for many branches), in causal models the rows before
/// the first of these in all layers, of the last layer what comes after the keys of rows that nobody asks for, and
/// logits of other rows. Linear layers see the rows of many branches at once.
/// Values are, bit for bit, those of Transformer::forward() with the same knock-outs.
class Branches {
 public:
  using Reader = std::function<void(std::size_t branch, const BranchResult& result)>;

  /// Runs the whole pass. `transformer` must outlive this. Throws as forward() does.
  Branches(const Transformer& transformer, std::span<const std::int32_t> ids, std::span<const std::int32_t> type_ids,
           const BranchOptions& options = {});
  ~Branches();
  Branches(Branches&&) noexcept;
  Branches& operator=(Branches&&) noexcept;

  /// The pass without knock-outs, all rows.
  const BranchResult& whole() const;

  /// Runs each branch, and tells of them in order. After Cancelled those told of stay good. Throws BadArgument as
  /// forward() does.
  void run(std::span<const Branch> branches, const Reader& read);

  BranchWork work() const;

  Trunk& trunk();  // for what else is told of the whole pass

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_BRANCHES_H_
