#ifndef SIGHTLINE_MODEL_BATCH_H_
#define SIGHTLINE_MODEL_BATCH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sightline/transformer.h"
#include "src/model/context_cache.h"
#include "src/model/pass.h"

namespace sightline::model {

/// Throws BadArgument: an empty sequence, one longer than the positions or its context's room, an id or a type outside
/// its embedding, a context of another model or one that occurs twice.
void check_batch(const TransformerConfig& config, const void* model, std::span<const TokenSequence> batch);

/// The sequences of a pass over a checked batch. Contexts get room for their new tokens; unless commit() says that the
/// pass succeeded they are put back to what they were.
class PreparedBatch {
 public:
  PreparedBatch(const TransformerConfig& config, std::span<const TokenSequence> batch);
  ~PreparedBatch();
  PreparedBatch(const PreparedBatch&) = delete;
  PreparedBatch& operator=(const PreparedBatch&) = delete;

  std::span<PassSequence> sequences() { return sequences_; }
  void commit() noexcept;

 private:
  // What a pass changes of a context.
  struct Growth {
    Context::Impl* context = nullptr;
    std::span<const std::int32_t> ids;     // to be added
    std::unique_ptr<ContextCache> fresh;   // in place of the context's, where all its keys change
    std::vector<std::int32_t> whole = {};  // with fresh: its tokens and ids
  };

  PassSequence grow(const TransformerConfig& config, const TokenSequence& text);
  void restore() noexcept;

  std::vector<PassSequence> sequences_;
  std::vector<Growth> growths_;
  bool committed_ = false;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_BATCH_H_
