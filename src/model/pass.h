#ifndef SIGHTLINE_MODEL_PASS_H_
#define SIGHTLINE_MODEL_PASS_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sightline/transformer.h"
#include "src/model/branch_keys.h"
#include "src/model/config.h"
#include "src/model/context_cache.h"
#include "src/model/pass_memory.h"
#include "src/ops/linear.h"
#include "src/ops/rope.h"

namespace sightline::model {

/// A sequence as a pass computes it: `ids` stand at the positions begin, begin + 1, ...
struct PassSequence {
  std::span<const std::int32_t> ids, type_ids;
  std::int64_t begin = 0;
  std::int64_t unasked = 0;       // leading rows that only repeat what the caller has had
  ContextCache* cache = nullptr;  // extended by ids, not yet written
  PromptMass* mass = nullptr;     // with cache: to be added to
  PrunedKeys* pruned = nullptr;   // instead of cache, where keys go
  // Of a branch, whose rows may be some of the text's: the whole pass's keys and values.
  BranchKeys* known = nullptr;   // all of them: the queries look at these, and the rows have no keys of their own
  BranchKeys* shared = nullptr;  // those before `begin`
  const std::vector<ops::RopeTable>* ropes = nullptr;  // of the text's positions, where they are there already
  PositionRange queries = {};  // positions that go on from attention; the others have keys and values alone

  std::int64_t length() const { return static_cast<std::int64_t>(ids.size()); }
  std::int64_t query_begin() const { return std::clamp(queries.begin, begin, begin + length()); }
  std::int64_t query_end() const { return std::clamp(queries.end, query_begin(), begin + length()); }
  std::int64_t key_count() const { return known != nullptr ? known->tokens() : begin + length(); }
};

/// What the steps of a pass share. Rows of all sequences stand one after the other, so that linear layers see them as
/// one matrix: sequence s owns rows [row_begin[s], row_begin[s + 1]).
struct Pass {
  Pass(const TransformerConfig& of, std::span<PassSequence> texts, const ForwardOptions& how, PassMemory& to_use)
      : config(of), sequences(texts), options(how), memory(to_use) {
    for (const PassSequence& text : texts) {
      row_begin.push_back(row_begin.back() + text.length());
      query_begin.push_back(query_begin.back() + text.query_end() - text.query_begin());
    }
  }

  std::int64_t rows() const { return row_begin.back(); }
  /// Of these rows those that go on from attention: sequence s owns [query_begin[s], query_begin[s + 1]) of them.
  std::int64_t query_rows() const { return query_begin.back(); }
  /// Rows that attention projects to queries, keys and values.
  std::int64_t projected_rows() const {
    std::int64_t count = same_as.empty() ? rows() : 0;
    for (std::size_t row = 0; row < same_as.size(); ++row) count += std::cmp_equal(same_as[row], row);
    return count;
  }
  /// Whether keys and values are there already, for all sequences or none.
  bool queries_alone() const { return !sequences.empty() && sequences.front().known != nullptr; }

  const TransformerConfig& config;
  const std::span<PassSequence> sequences;
  const ForwardOptions& options;
  PassMemory& memory;
  std::vector<std::int64_t> row_begin{0}, query_begin{0};
  // [rows] the first row that goes into the next layer with the same bits as each, which is projected for all of them;
  // empty: each row by itself.
  std::vector<std::int64_t> same_as;
};

/// y = layer(x), with the pass's threads and precision.
inline void apply(const Pass& pass, const ops::Linear& layer, const float* x, std::int64_t rows, float* y) {
  ops::linear(layer, x, rows, y, pass.options.threads, pass.options.precision);
}

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_PASS_H_
