// What the map of weights says in sums and ranks, each straight from its definition.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/attention/reference.h"
#include "src/attention/reference_scores.h"

namespace sightline::reference {
namespace {

class Observer {
 public:
  Observer(const AttentionProblem& problem, const Result& result, const Observations& see)
      : p_(problem), result_(result), see_(see), map_(measured(problem, result, see.measure)) {
    heads_ = p_.q.shape[1];
    queries_ = p_.q.shape[2];
    keys_ = p_.k.shape[2];
    planes_ = p_.q.shape[0] * heads_;
  }

  Seen run() {
    if (see_.topk_index != nullptr || see_.topk_weight != nullptr) rank();
    if (see_.offset_mass != nullptr) sum_offsets();
    if (see_.segment_mass != nullptr) sum_segments();
    if (see_.key_mass != nullptr) sum_rows();
    if (see_.overview != nullptr) pool();
    if (see_.row_weights != nullptr) choose_rows();
    return std::move(seen_);
  }

 private:
  void rank();
  void rank_row(std::int64_t row, const Query& query);
  void sum_offsets();
  void sum_segments();
  void sum_rows();
  void pool();
  double mean_of_cell(const Extent& part, std::int64_t h, std::int64_t a, std::int64_t c) const;
  void choose_rows();

  Query query(std::int64_t row) const {
    const std::int64_t plane = row / queries_;
    return locate(p_, plane / heads_, plane % heads_, row % queries_);
  }
  double measure(std::int64_t row, std::int64_t j) const { return map_[row * keys_ + j]; }
  bool hidden(std::int64_t row, std::int64_t j) const { return result_.scores[row * keys_ + j] == kHidden; }

  const AttentionProblem& p_;
  const Result& result_;
  const Observations& see_;
  const std::vector<double> map_;
  std::int64_t heads_, queries_, keys_, planes_;
  Seen seen_;
};

void Observer::rank() {
  seen_.topk_index.assign(planes_ * queries_ * see_.top_k, -1);
  seen_.topk_weight.assign(seen_.topk_index.size(), 0);
  for (std::int64_t row = 0; row < planes_ * queries_; ++row) rank_row(row, query(row));
}

// By score where weights are ranked: weights that are too small to tell apart keep their order.
void Observer::rank_row(std::int64_t row, const Query& query) {
  std::vector<std::int64_t> order(query.key_count);
  std::iota(order.begin(), order.end(), query.first_key);
  std::erase_if(order, [&](std::int64_t j) { return hidden(row, j); });
  const std::vector<double>& by = see_.measure == Measure::weight ? result_.scores : map_;
  const auto is_nan = [&](std::int64_t j) { return std::isnan(by[row * keys_ + j]); };
  if (std::any_of(order.begin(), order.end(), is_nan)) return;  // nothing to rank by
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return by[row * keys_ + a] > by[row * keys_ + b]; });
  order.resize(std::min<std::size_t>(order.size(), see_.top_k));
  for (std::size_t n = 0; n < order.size(); ++n) {
    seen_.topk_index[row * see_.top_k + n] = order[n] - query.first_key;
    seen_.topk_weight[row * see_.top_k + n] = result_.weights[row * keys_ + order[n]];
  }
}

// The nodes of a tree are counted one after the other.
void Observer::sum_offsets() {
  const std::size_t count = see_.offsets.size();
  seen_.offset_mass.assign(planes_ * queries_ * count, 0);
  for (std::int64_t row = 0; row < planes_ * queries_; ++row) {
    const Query q = query(row);
    for (std::int64_t n = 0; n < q.key_count; ++n) {
      if (hidden(row, q.first_key + n)) continue;
      const std::int64_t offset = q.key_position + n - index_position(q);
      for (std::size_t o = 0; o < count; ++o) {
        if (see_.offsets[o] == offset) seen_.offset_mass[row * count + o] += measure(row, q.first_key + n);
      }
    }
  }
}

void Observer::sum_segments() {
  seen_.segment_mass.assign(planes_ * queries_ * see_.segments, 0);
  const bool per_sequence = static_cast<std::int64_t>(see_.segment_of_key.size()) != keys_;
  for (std::int64_t row = 0; row < planes_ * queries_; ++row) {
    const std::int64_t first = per_sequence ? query(row).sequence * keys_ : 0;
    for (std::int64_t j = 0; j < keys_; ++j) {
      const std::int32_t segment = see_.segment_of_key[first + j];
      if (segment >= 0 && !hidden(row, j)) seen_.segment_mass[row * see_.segments + segment] += measure(row, j);
    }
  }
}

// What was there before a row counts mass_decay times as much after it. Sequences that share no keys have planes of
// their own.
void Observer::sum_rows() {
  const bool own = !p_.cu_seqlens_q.empty() && p_.cu_seqlens_k.empty();
  seen_.key_mass.assign((own ? sequence_count(p_) : p_.q.shape[0]) * heads_ * keys_, 0);
  const std::int64_t end = std::min(see_.mass_row_end, queries_);
  for (std::int64_t row = 0; row < planes_ * queries_; ++row) {
    const bool counts = row % queries_ >= see_.mass_row_begin && row % queries_ < end;
    const Query q = query(row);
    double* mass = seen_.key_mass.data() + ((own ? q.sequence : q.b) * heads_ + q.h) * keys_;
    for (std::int64_t j = 0; j < keys_; ++j) mass[j] = mass[j] * see_.mass_decay + (counts ? measure(row, j) : 0);
  }
}

// Each packed sequence has bins of its own.
void Observer::pool() {
  const std::int64_t sequences = sequence_count(p_);
  seen_.overview.assign(sequences * heads_ * see_.overview_rows * see_.overview_cols, 0);
  std::size_t cell = 0;
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::int64_t h = 0; h < heads_; ++h) {
      for (std::int64_t a = 0; a < see_.overview_rows; ++a) {
        for (std::int64_t c = 0; c < see_.overview_cols; ++c)
          seen_.overview[cell++] = mean_of_cell(extent(p_, s), h, a, c);
      }
    }
  }
}

double Observer::mean_of_cell(const Extent& part, std::int64_t h, std::int64_t a, std::int64_t c) const {
  const auto edge = [this](std::int64_t bin, std::int64_t count, std::int64_t bins) {
    return see_.overview_step > 0 ? std::min(count, bin * see_.overview_step) : bin * count / bins;
  };
  const std::int64_t begin = edge(a, part.rows, see_.overview_rows), end = edge(a + 1, part.rows, see_.overview_rows);
  double sum = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = (part.b * heads_ + h) * queries_ + part.first_row + i;
    for (std::int64_t j = edge(c, part.keys, see_.overview_cols); j < edge(c + 1, part.keys, see_.overview_cols); ++j)
      sum += measure(row, part.first_key + j);
  }
  return sum / static_cast<double>(std::max<std::int64_t>(end - begin, 1));
}

void Observer::choose_rows() {
  for (std::int64_t plane = 0; plane < planes_; ++plane) {
    for (const std::int64_t i : see_.rows) {
      const double* row = result_.weights.data() + (plane * queries_ + i) * keys_;
      seen_.row_weights.insert(seen_.row_weights.end(), row, row + keys_);
    }
  }
}

}  // namespace

Seen observe(const AttentionProblem& problem, const Result& result, const Observations& see) {
  return Observer(problem, result, see).run();
}

}  // namespace sightline::reference
