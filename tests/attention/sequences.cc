#include "tests/attention/sequences.h"

#include <algorithm>

namespace sightline::testing {
namespace {

// Where sequences begin, and the end: equal numbers make empty ones.
std::vector<std::int32_t> any_begins(std::int64_t sequences, std::int64_t total, std::mt19937_64& random) {
  std::vector<std::int32_t> begins{0, static_cast<std::int32_t>(total)};
  for (std::int64_t s = 1; s < sequences; ++s) {
    const bool empty = chance(random, 0.2);
    begins.push_back(empty ? begins.back() : static_cast<std::int32_t>(between(random, 0, total)));
  }
  std::sort(begins.begin(), begins.end());
  return begins;
}

}  // namespace

Sequences::Sequences(const ProblemRecipe& recipe) : recipe_(recipe), key_planes_(recipe.batch) {
  std::int64_t count = recipe.batch;
  if (recipe.has(Feature::packed)) {
    std::mt19937_64 random = recipe.numbers(Feature::packed);
    count = between(random, 1, 6);
    q_begins_ = any_begins(count, recipe.queries, random);
    if (recipe.has(Feature::pages)) {
      key_planes_ = count;  // each has a table, and as many keys as any
    } else {
      k_begins_ = any_begins(count, recipe.keys, random);
    }
  }
  std::mt19937_64 random = recipe.numbers(1);
  for (std::int64_t s = 0; recipe.sequences && s < count; ++s) spans_.push_back(any_span(s, random));
}

void Sequences::apply(AttentionProblem& problem) const {
  problem.sequences = spans_;
  problem.cu_seqlens_q = q_begins_;
  problem.cu_seqlens_k = k_begins_;
}

std::int64_t Sequences::keys_of(std::int64_t sequence) const {
  return k_begins_.empty() ? recipe_.keys : k_begins_[sequence + 1] - k_begins_[sequence];
}

// A tree's queries are among its keys, and say where they stand.
SequenceSpan Sequences::any_span(std::int64_t sequence, std::mt19937_64& random) const {
  const std::int64_t keys = keys_of(sequence);
  const bool tree = recipe_.has(Feature::tree);
  SequenceSpan span;
  span.key_count = chance(random, 0.3) ? -1 : between(random, tree ? recipe_.queries : 0, keys);
  span.key_position = chance(random, 0.5) ? 0 : between(random, 1, 9000);
  const std::int64_t position = span.key_position + between(random, -5, keys);
  if (chance(random, 0.5) && !tree) span.query_position = position;
  return span;
}

std::vector<std::int64_t> Sequences::lengths() const {
  const std::int64_t count = k_begins_.empty() ? key_planes_ : static_cast<std::int64_t>(k_begins_.size()) - 1;
  std::vector<std::int64_t> lengths;
  for (std::int64_t s = 0; s < count; ++s) {
    const std::int64_t in_use = spans_.empty() ? -1 : spans_[s].key_count;
    lengths.push_back(in_use < 0 ? keys_of(s) : in_use);
  }
  return lengths;
}

std::pair<std::int64_t, std::int64_t> Sequences::of_key(std::int64_t b, std::int64_t j) const {
  if (k_begins_.empty()) return {b, j};
  const auto next = std::upper_bound(k_begins_.begin(), k_begins_.end(), j);
  const std::int64_t sequence = next - k_begins_.begin() - 1;
  return {sequence, j - k_begins_[sequence]};
}

}  // namespace sightline::testing
