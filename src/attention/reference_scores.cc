// What a query sees, and the scores of what it sees: one rule a function.
#include "src/attention/reference_scores.h"

#include <algorithm>
#include <cmath>

namespace sightline::reference {
namespace {

std::int64_t tensor_key(const Query& query, std::int64_t n) { return query.first_key + n; }

// Key's position less query's.
std::int64_t ahead(const AttentionProblem& p, const Query& query, std::int64_t n) {
  return position_of_key(p, query, n) - query.position;
}

bool in_range(const AttentionProblem& p, std::int64_t ahead) {
  if (p.causal && ahead > 0) return false;
  if (p.window_left >= 0 && ahead < -p.window_left) return false;
  return p.window_right < 0 || ahead <= p.window_right;
}

bool lists(std::span<const std::int64_t> list, std::int64_t index) {
  return list.empty() || std::find(list.begin(), list.end(), index) != list.end();
}

bool is_cut(const AttentionProblem& p, const Query& query, std::int64_t n) {
  return std::any_of(p.cuts.begin(), p.cuts.end(), [&](const EdgeCut& cut) {
    return (cut.batch == -1 || cut.batch == query.sequence) && lists(cut.heads, query.h) &&
           lists(cut.rows, query.row) && lists(cut.keys, n);
  });
}

// The list of blocks is walked from its start: this is meant to be plain.
bool in_blocks(const AttentionProblem& p, const Query& query, std::int64_t j) {
  const BlockMask& mask = p.block_mask;
  const std::int64_t block_rows = (p.q.shape[2] + BlockMask::kBlock - 1) / BlockMask::kBlock;
  const std::int64_t plane = (mask.batch == 1 ? 0 : query.b) * mask.heads + (mask.heads == 1 ? 0 : query.h);
  const std::int64_t line = plane * block_rows + query.i / BlockMask::kBlock;
  for (std::int64_t e = mask.row_begin[line]; e < mask.row_begin[line + 1]; ++e) {
    const BlockMask::Entry& entry = mask.entries[e];
    if (entry.column != j / BlockMask::kBlock) continue;
    return entry.bits < 0 ||
           mask.bits[BlockMask::kBlock * entry.bits + query.i % BlockMask::kBlock] >> (j % BlockMask::kBlock) & 1;
  }
  return false;
}

// Keys before the tree, ancestors, and the query's own.
bool in_tree(const AttentionProblem& p, const Query& query, std::int64_t n) {
  const std::int64_t key_node = n - (query.key_count - query.rows);
  if (key_node < 0) return true;
  const std::int32_t* parents = tree_of(p, query);
  std::int64_t node = query.row;
  while (node > key_node) node = parents[node];  // a parent lies below its children
  return node == key_node;
}

// The pair as a tile of its own.
ScoreTile pair_tile(const Query& query, std::int64_t n, float* score) {
  return {score, 1, 1, 1, 1, query.sequence, query.h, query.row, n, index_position(query), query.key_position + n};
}

bool hidden_by_function(const AttentionProblem& p, const Query& query, std::int64_t n) {
  float score = 0;
  p.mask_function->hide(pair_tile(query, n, &score));
  return score != 0;
}

double relative_bias(const AttentionProblem& p, const Query& query, std::int64_t n) {
  const std::int64_t heads = p.q.shape[1];
  return p.relative_bias.table[bucket(p.relative_bias, ahead(p, query, n)) * heads + query.h];
}

}  // namespace

// Distances below `exact` have a bucket each; the others share the rest evenly by the logarithm of the distance. At the
// edge of a bucket the quotient of logarithms is a whole number that rounding may miss.
std::int64_t bucket(const RelativeBias& bias, std::int64_t offset) {
  const std::int64_t side = bias.bidirectional ? bias.buckets / 2 : bias.buckets, exact = side / 2;
  const std::int64_t first = bias.bidirectional && offset > 0 ? side : 0;
  const std::int64_t distance = bias.bidirectional ? std::abs(offset) : std::max<std::int64_t>(-offset, 0);
  if (distance < exact) return first + distance;
  const double share = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(bias.max_distance) / static_cast<double>(exact));
  const double step = std::floor(share * static_cast<double>(side - exact) + 1e-9);
  return first + std::min(exact + static_cast<std::int64_t>(step), side - 1);
}

bool sees(const AttentionProblem& p, const Query& query, std::int64_t n) {
  const std::int64_t j = tensor_key(query, n);
  if (position_of_key(p, query, n) < 0) return false;  // padding before the sequence
  if (!in_range(p, ahead(p, query, n))) return false;
  if (p.mask && at(p.mask, query.b, query.h, query.i, j) == 0) return false;
  if (p.bias && at(p.bias, query.b, query.h, query.i, j) == kHidden) return false;
  if (is_cut(p, query, n)) return false;
  if (p.block_mask && !in_blocks(p, query, j)) return false;
  if (!p.tree_parents.empty() && !in_tree(p, query, n)) return false;
  return p.mask_function == nullptr || !hidden_by_function(p, query, n);
}

double raw_score(const AttentionProblem& p, const Query& query, std::int64_t n) {
  double dot = 0;
  for (std::int64_t d = 0; d < p.q.shape[3]; ++d) {
    dot += at(p.q, query.b, query.h, query.i, d) * key_at(p, query, n, d);
  }
  return dot * (p.scale ? *p.scale : 1 / std::sqrt(static_cast<double>(p.q.shape[3])));
}

double capped_score(const AttentionProblem& p, const Query& query, std::int64_t n) {
  const double raw = raw_score(p, query, n);
  return p.softcap > 0 ? p.softcap * std::tanh(raw / p.softcap) : raw;
}

double full_score(const AttentionProblem& p, const Query& query, std::int64_t n) {
  double x = capped_score(p, query, n);
  if (p.bias) x += at(p.bias, query.b, query.h, query.i, tensor_key(query, n));
  if (p.relative_bias) x += relative_bias(p, query, n);
  if (!p.alibi_slopes.empty()) {
    x -= p.alibi_slopes[query.h] * static_cast<double>(std::abs(ahead(p, query, n)));
  }
  if (p.score_function == nullptr) return x;
  auto score = static_cast<float>(x);
  p.score_function->apply(pair_tile(query, n, &score));
  return score;
}

}  // namespace sightline::reference
