#ifndef SIGHTLINE_MODEL_TRANSFORMER_H_
#define SIGHTLINE_MODEL_TRANSFORMER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sightline/attention.h"
#include "src/model/config.h"

namespace sightline::model {

/// Which map of a layer: `self` (queries and keys from the same sequence) or `cross` (keys from the encoder).
enum class AttentionKind : std::uint8_t { self, cross };

/// One call of the attention kernel within a forward pass, as an observer sees it.
struct LayerAttention {
  AttentionKind kind = AttentionKind::self;
  int layer = 0;                    // from 0
  int sequence = 0;                 // index into the batch
  const AttentionProblem& problem;  // q [1, Hq, Nq, D], k, v: views that live until done() returns
};

/// What watches a forward pass. Layers come in order, and sequences in order within a layer, from one thread.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  /// What to observe in this call; the buffers must live until done().
  virtual Observations request(const LayerAttention& call) = 0;
  virtual void done(const LayerAttention& call) = 0;
};

/// One text of a batch. Texts are packed, never padded, and do not see one another.
struct TokenSequence {
  std::span<const std::int32_t> ids;
  std::span<const std::int32_t> type_ids;  // as long as ids, or empty: all 0
};

struct ForwardOptions {
  int threads = 0;
  AttentionObserver* observer = nullptr;
  Progress* progress = nullptr;     // told of the pieces of each attention call; false ends the pass with Cancelled
  bool keep_hidden_states = false;  // embedding output and every layer's output
  bool want_logits = false;         // run the language-model head (BadArgument where the file has none)
};

/// Rows of all sequences one after the other: sequence s owns rows [row_begin[s], row_begin[s + 1]).
struct ForwardResult {
  std::int64_t width = 0;
  std::vector<std::int64_t> row_begin;
  std::vector<float> last_hidden_state;           // [rows, width]
  std::vector<float> pooled;                      // [sequences, width]; empty without a pooler
  std::vector<float> logits;                      // [rows, vocabulary]; empty unless wanted
  std::vector<std::vector<float>> hidden_states;  // layers + 1 of [rows, width], if kept
};

/// A transformer with its weights mapped from the files of a Hugging Face directory (config.json and model.safetensors,
/// or shards with model.safetensors.index.json). Safe for concurrent forward() calls.
class Transformer {
 public:
  /// Throws BadFile, UnsupportedModel.
  static Transformer load(const std::filesystem::path& directory);

  const TransformerConfig& config() const;
  std::int64_t parameter_count() const;
  std::vector<std::string> warnings() const;  // left-over tensors and the like, one line each

  /// Throws BadArgument (ids outside the vocabulary, a sequence that is empty or longer than config().max_positions),
  /// Cancelled.
  ForwardResult forward(std::span<const TokenSequence> batch, const ForwardOptions& options = {}) const;

 private:
  struct Impl;
  Transformer() = default;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_TRANSFORMER_H_
