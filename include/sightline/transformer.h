#ifndef SIGHTLINE_TRANSFORMER_H_
#define SIGHTLINE_TRANSFORMER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sightline/attention.h"
#include "sightline/context.h"
#include "sightline/transformer_config.h"

namespace sightline::model {

/// Which map of a layer: `self` (queries and keys from the same sequence) or `cross` (keys from the encoder).
enum class AttentionKind : std::uint8_t { self, cross };

/// One call of the attention kernel within a forward pass, as an observer sees it.
struct LayerAttention {
  AttentionKind kind = AttentionKind::self;
  int layer = 0;     // from 0
  int sequence = 0;  // index into the batch
  // q [1, Hq, Nq, D], k, v: views that live until done() returns; with a context, k and v are pages of its cache, and
  // the queries are the last Nq positions.
  const AttentionProblem& problem;
  // [Hkv, Nk]: where the keys stand in the text, if the context has dropped some: indexes of keys are then slots, in no
  // order, and what counts in positions (position, distance, offsets) means nothing. Empty: key j stands at position j.
  std::span<const std::int32_t> key_positions = {};
};

/// What watches a forward pass. Layers come in order, and sequences in order within a layer, from one thread.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  /// What to observe in this call; the buffers must live until done().
  virtual Observations request(const LayerAttention& call) = 0;
  virtual void done(const LayerAttention& call) = 0;
};

/// One text of a batch, or with `context` the continuation of one. Texts are packed, never padded, and do not see one
/// another.
struct TokenSequence {
  std::span<const std::int32_t> ids;
  std::span<const std::int32_t> type_ids = {};  // as long as ids, or empty: all 0
  Context* context = nullptr;  // what came before: ids continue it and are added to it (causal models alone)
};

/// Positions [begin, end) of a sequence, from 0. Without an end it is all from `begin` on, those to come too.
struct PositionRange {
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
  std::int64_t begin = 0;
  std::int64_t end = kOpen;

  bool has(std::int64_t position) const { return begin <= position && position < end; }
  bool operator==(const PositionRange&) const = default;
};

/// Edges that are taken out of the maps of a pass, to see what depends on them: these rows do not see these keys, and
/// the rest of the row is what the softmax makes of it (a row without any key left gives 0). An empty list means all.
struct KnockOut {
  std::vector<int> layers = {};          // from 0
  std::vector<std::int64_t> heads = {};  // query heads, from 0
  // Of the whole sequence, what its context holds counted. Ranges may overlap.
  std::vector<PositionRange> rows = {}, keys = {};
  int sequence = -1;  // of the batch; -1: all of them

  bool operator==(const KnockOut&) const = default;
};

/// Which rows get logits.
enum class LogitRows : std::uint8_t { none, last, all };  // last: of every sequence

/// Takes the logits of some rows, [rows, vocabulary]; `row`: the first of them, as ForwardResult counts rows.
using LogitReader = std::function<void(std::int64_t row, std::span<const float> logits)>;

struct ForwardOptions {
  int threads = 0;
  AttentionObserver* observer = nullptr;
  Progress* progress = nullptr;        // told of the pieces of each attention call; false ends the pass with Cancelled
  bool keep_hidden_states = false;     // embedding output and every layer's output
  LogitRows logits = LogitRows::none;  // run the language-model head (BadArgument where the file has none)
  LogitReader read_logits = {};        // is given them a few rows at a time, ascending, in place of the result: those
                                       // of every row of a long text are more than most memories hold
  Precision precision = Precision::exact;     // fast: attention and linear layers on bf16, see docs/fast.md
  std::span<const KnockOut> knock_outs = {};  // all of them hold at once
};

/// Rows of all sequences one after the other: sequence s owns rows [row_begin[s], row_begin[s + 1]).
struct ForwardResult {
  std::int64_t width = 0;
  std::vector<std::int64_t> row_begin;
  std::vector<float> last_hidden_state;           // [rows, width], after the final norm if the model has one
  std::vector<float> pooled;                      // [sequences, width]; empty without a pooler
  std::vector<float> logits;                      // [rows or sequences, vocabulary]; empty unless wanted here
  std::vector<std::vector<float>> hidden_states;  // layers + 1 of [rows, width], if kept; the last one is after the
                                                  // final norm if the model has one
};

/// What tells one model from another, each as 32 hexadecimal digits.
struct TransformerIdentity {
  std::string description;  // a hash of its config
  std::string weights;      // of the names, types, shapes and bytes of all tensors of its files
};

struct LoadOptions {
  bool strict = false;  // whatever would be a warning is BadFile
};

/// A transformer with its weights mapped from the files of a Hugging Face directory (config.json and model.safetensors,
/// or shards with model.safetensors.index.json) or a GGUF file. Safe for concurrent forward() calls with contexts of
/// their own.
class Transformer {
 public:
  /// Throws BadFile, UnsupportedModel.
  static Transformer load(const std::filesystem::path& path, const LoadOptions& options = {});

  const TransformerConfig& config() const;
  std::int64_t parameter_count() const;
  /// Bytes of the weight matrices that a pass over one token reads: of an embedding that gives no logits one row alone,
  /// which is not counted, of experts as many as a token goes through.
  std::int64_t token_weight_bytes() const;
  /// Reads all weights, at the memory's speed or the disk's.
  TransformerIdentity identity() const;
  std::vector<std::string> warnings() const;  // left-over tensors and the like, one line each

  /// A text of no tokens yet, with room for `tokens` of them (at most config().max_positions) in every layer. `keys`,
  /// `values`: types of the cache. Throws BadArgument for models that are not causal, for a rule of dropping that is
  /// out of range or meets a rope whose frequencies change within `tokens`; OutOfMemory.
  Context make_context(std::int64_t tokens, const ContextOptions& options = {}) const;

  /// Whether this model made that context, which no other can continue.
  bool owns(const Context& context) const;

  /// Throws BadArgument (ids outside the vocabulary, a sequence that is empty or longer than config().max_positions or
  /// its context's room, or of several tokens where the context drops keys; a knock-out of a layer, head, sequence or
  /// position that there is not, where positions are those that a sequence, or its context, has room for, or beside
  /// dropped keys), Cancelled. After an error contexts are what they were before the call.
  ///
  /// The bits of a row depend on its sequence alone: not on the batch, on threads, on the SIMD target, or on how the
  /// sequence was cut into calls. Where the rope's frequencies change with the length (longrope at the crossing,
  /// dynamic at every token beyond it) the context's tokens are computed again from the beginning; observers then see
  /// all rows, the result holds those of `ids`.
  ForwardResult forward(std::span<const TokenSequence> batch, const ForwardOptions& options = {}) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }  // for passes of other kinds

 private:
  Transformer() = default;
  std::shared_ptr<const Impl> impl_;
};

/// The real tokens of a padded batch, as other software has them: ids and mask [sequences, length], 1 where a token is
/// real. Padding may be on the left or the right. Throws BadArgument for a mask with holes or without a real token.
std::vector<TokenSequence> unpadded(std::span<const std::int32_t> ids, std::span<const std::uint8_t> mask,
                                    std::int64_t length);

}  // namespace sightline::model

#endif  // SIGHTLINE_TRANSFORMER_H_
