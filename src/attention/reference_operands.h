#ifndef SIGHTLINE_ATTENTION_REFERENCE_OPERANDS_H_
#define SIGHTLINE_ATTENTION_REFERENCE_OPERANDS_H_

#include <cstdint>

#include "sightline/attention.h"

namespace sightline::reference {

/// One query of one head, its sequence, and where it stands.
struct Query {
  std::int64_t b, h, i;  // indexes of the tensors
  std::int64_t kv_head;
  std::int64_t sequence;        // b, or of the packed ones
  std::int64_t row;             // index in the sequence: i, unless packed
  std::int64_t rows;            // of the sequence
  std::int64_t first_key;       // the sequence's first key as an index of the tensors: 0, unless packed
  std::int64_t key_count;       // keys in use
  std::int64_t key_position;    // of the sequence's first key
  std::int64_t position;        // of this query
  std::int64_t first_position;  // of the sequence's first query
};

/// Where a query stands if the nodes of a tree are counted one after the other.
std::int64_t index_position(const Query& query);

/// A sequence as a part of the tensors: of the batch, or packed. Packed queries may have keys in pages alone, which are
/// not packed then.
struct Extent {
  std::int64_t b, first_row, rows;
  std::int64_t first_key, keys;
};
std::int64_t sequence_count(const AttentionProblem& problem);
Extent extent(const AttentionProblem& problem, std::int64_t sequence);

/// Where the query stands in every way.
Query locate(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i);
/// Where key `n` of the query's sequence stands.
std::int64_t position_of_key(const AttentionProblem& problem, const Query& query, std::int64_t n);

/// The parents of the nodes of the query's own tree.
const std::int32_t* tree_of(const AttentionProblem& problem, const Query& query);

/// Element [b, h, i, j] as a number; an axis of size 1 is shared by all indexes (broadcast).
double at(const TensorView& tensor, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j);
/// Element d of key `n` of the query's sequence, or of its value.
double key_at(const AttentionProblem& problem, const Query& query, std::int64_t n, std::int64_t d);
double value_at(const AttentionProblem& problem, const Query& query, std::int64_t n, std::int64_t d);

}  // namespace sightline::reference

#endif  // SIGHTLINE_ATTENTION_REFERENCE_OPERANDS_H_
