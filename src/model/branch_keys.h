#ifndef SIGHTLINE_MODEL_BRANCH_KEYS_H_
#define SIGHTLINE_MODEL_BRANCH_KEYS_H_

#include <cstdint>

#include "sightline/attention.h"
#include "sightline/kv_cache.h"
#include "sightline/transformer_config.h"

namespace sightline::model {

/// Keys (after the rope) and values of a text in every layer, as its whole pass has them, and of one branch at a time,
/// which shares those before its first row that differs.
class BranchKeys {
 public:
  BranchKeys(const TransformerConfig& config, std::int64_t tokens);

  /// Of the memory that it takes.
  static std::int64_t bytes(const TransformerConfig& config, std::int64_t tokens);
  std::int64_t tokens() const { return tokens_; }

  /// Keeps k and v of a call of the whole pass.
  void keep(int layer, const AttentionProblem& problem);
  /// Lets `problem` read the whole pass's; where its queries stand is the caller's to say.
  void read_whole(int layer, AttentionProblem& problem);
  /// k and v of `problem` are those of a branch's rows from `begin` to the last: lets it read them and, before them,
  /// the whole pass's, until the next call.
  void read_branch(int layer, std::int64_t begin, AttentionProblem& problem);

 private:
  void fork_at(std::int64_t begin);

  std::int64_t tokens_;
  KvCache cache_;
  SequenceId whole_, branch_;
  KvView view_of_whole_, view_of_branch_;
  std::int64_t begin_ = -1;  // where the branch's own begin; -1: there is none
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_BRANCH_KEYS_H_
