#include "tests/attention/reference_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "tests/attention/row_bounds.h"

namespace sightline::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNegligible = 1e-30;

class Checker {
 public:
  Checker(const RandomProblem& random, const ObservationRecipe& recipe, Observed& got,
          const reference::Result& expected)
      : random_(random),
        p_(random.problem()),
        recipe_(recipe),
        got_(got),
        want_(expected),
        bounds_(row_bounds(random, expected)) {
    batch_ = p_.q.shape[0];
    heads_ = p_.q.shape[1];
    queries_ = p_.q.shape[2];
    keys_ = p_.k.shape[2];
    for (std::int64_t row = 0; row < rows(); ++row) {
      const std::int64_t plane = row / queries_;
      query_.push_back(reference::locate(p_, plane / heads_, plane % heads_, row % queries_));
    }
  }

  std::string run() {
    tiles_ = got_.map(p_, Stage::weights);
    biased_ = got_.map(p_, Stage::biased);
    check_rows();
    check_sinks();
    check_outputs();
    check_maps();
    check_stage(Stage::raw);
    check_stage(Stage::capped);
    check_topk();
    check_sums();
    check_zeros();
    if (!got_.out.gaps_untouched()) fail("out", 0, "a gap between elements was written", 0, 0);
    return message_;
  }

 private:
  void check_rows();
  void check_empty_row(std::int64_t row);
  void check_sinks();
  void check_outputs();
  void check_output_row(std::int64_t row);
  void check_maps();
  void check_stage(Stage stage);
  void check_topk();
  void check_topk_by_score(std::int64_t row);
  void check_topk_by_value(std::int64_t row, const double* measured);
  void check_sums();
  void check_sum(const char* what, const std::vector<float>& got, const std::vector<double>& expected,
                 const std::vector<double>& bounds);
  reference::Result bounds_of_weights() const;
  void check_zeros();

  const double* weights(std::int64_t row) const { return want_.weights.data() + row * keys_; }
  const double* scores(std::int64_t row) const { return want_.scores.data() + row * keys_; }
  std::int64_t rows() const { return batch_ * heads_ * queries_; }

  void fail(const char* what, std::int64_t index, const std::string& why, double got, double expected) {
    if (!message_.empty()) return;
    std::ostringstream out;
    out.precision(9);
    out << what << "[" << index << "]: " << why << ", expected " << expected << ", got " << got;
    message_ = out.str();
  }
  // NaN and infinities are one kind of value here: which of them comes out depends on the order of operations.
  void near(const char* what, std::int64_t index, double got, double expected, double bound) {
    if (!std::isfinite(expected)) {
      if (std::isfinite(got)) fail(what, index, "not a NaN", got, expected);
    } else if (!(std::abs(got - expected) <= bound)) {
      fail(what, index, "beyond " + std::to_string(bound), got, expected);
    }
  }

  const RandomProblem& random_;
  const AttentionProblem& p_;
  const ObservationRecipe& recipe_;
  Observed& got_;
  const reference::Result& want_;
  const std::vector<RowBounds> bounds_;
  std::vector<reference::Query> query_;  // of each row
  std::int64_t batch_, heads_, queries_, keys_;
  std::vector<float> tiles_, biased_;  // the whole map, by tile()
  std::string message_;
};

void Checker::check_empty_row(std::int64_t row) {
  if (got_.row_max[row] != -kInf) fail("row_max", row, "a row without visible key", got_.row_max[row], -kInf);
  if (got_.lse[row] != want_.lse[row]) fail("lse", row, "a row without visible key", got_.lse[row], want_.lse[row]);
  for (const auto* values : {&got_.row_sum, &got_.entropy, &got_.position, &got_.distance})
    near("empty row", row, (*values)[row], 0, 0);
}

void Checker::check_rows() {
  for (std::int64_t row = 0; row < rows(); ++row) {
    const RowBounds& bound = bounds_[row];
    const double max = want_.row_max[row], sum = want_.row_sum[row], lse = want_.lse[row];
    if (max == -kInf) {
      check_empty_row(row);
      continue;
    }
    const double entropy = want_.entropy[row], logs = 1 + 2 * std::log(sum) + entropy;
    const double seen = std::accumulate(weights(row), weights(row) + keys_, 0.0);
    near("row_max", row, got_.row_max[row], max, bound.score);
    near("row_sum", row, got_.row_sum[row], sum, sum * bound.weight);
    near("lse", row, got_.lse[row], lse,
         bound.score + bound.weight + 4 * kUnit * (std::abs(max) + std::abs(lse) + std::log(sum) + 1));
    near("entropy", row, got_.entropy[row], entropy,
         2 * bound.score + 2 * bound.weight * (logs + seen * std::abs(lse - max)));
    if (seen < kNegligible) continue;  // all of it may be lost in fp32
    // Weights that fp32 loses stand at most this far off.
    const double lost = kSmallest / seen * static_cast<double>(keys_) * (2.0 * static_cast<double>(keys_) + 20000);
    // Within a block of 64 keys beside the row, distances come from differences of sums of positions.
    const double within_block = 64 * 8 * kUnit;
    near("position", row, got_.position[row], want_.position[row], want_.position[row] * 2 * bound.weight + lost);
    near("distance", row, got_.distance[row], want_.distance[row],
         want_.distance[row] * 2 * bound.weight + within_block + lost);
  }
}

void Checker::check_sinks() {
  for (std::int64_t row = 0; recipe_.sinks && row < rows(); ++row) {
    const double weight = want_.sink_weight[row], bound = bounds_[row].weight;
    const double seen = std::accumulate(weights(row), weights(row) + keys_, 0.0);
    const double logs = seen * (1 + std::abs(want_.lse[row] - want_.row_max[row]) + 2 * std::log(want_.row_sum[row]));
    const bool empty = want_.row_max[row] == -kInf;
    if (p_.sinks.empty() || empty) {
      near("sink_weight", row, got_.sink_weight[row], weight, 0);
    } else {
      near("sink_weight", row, got_.sink_weight[row], weight, 2 * bound * weight + kSmallest);
    }
    near("entropy_with_sink", row, got_.entropy_with_sink[row], want_.entropy_with_sink[row],
         empty ? 0 : 2 * bounds_[row].score + 2 * bound * (1 + logs + 2 * want_.entropy_with_sink[row]));
  }
}

void Checker::check_outputs() {
  for (std::int64_t row = 0; row < rows(); ++row) check_output_row(row);
}

void Checker::check_output_row(std::int64_t row) {
  const reference::Query& query = query_[row];
  const std::int64_t width = p_.v.shape[3];
  const double head = p_.head_scale.empty() ? 1 : std::abs(p_.head_scale[query.h]);
  const double factor = head * (p_.keep ? p_.keep_scale : 1);
  for (std::int64_t d = 0; d < width; ++d) {
    const double want = want_.out[row * width + d];
    double magnitude = 0, largest = 0;
    // A weight so small that fp32 has 0, or one that dropout or a caller's function takes, on a value that is not
    // finite.
    bool unclear = p_.keep && bounds_[row].nan;
    for (std::int64_t j = 0; j < keys_; ++j) {
      const double value = random_.v().magnitude(key_plane(p_, query), query.kv_head, j, d);
      if (scores(row)[j] == -kInf && p_.score_function != nullptr && !std::isfinite(value)) unclear = true;
      if (scores(row)[j] == -kInf) continue;
      const bool dropped = p_.keep && reference::at(p_.keep, query.b, query.h, query.i, j) == 0;
      if (!std::isfinite(value) && (dropped || weights(row)[j] < kNegligible)) unclear = true;
      if (dropped) continue;
      magnitude += weights(row)[j] * value;
      largest = std::max(largest, value);
    }
    if (unclear && head != 0) continue;
    const double bound =
        magnitude * (2 * bounds_[row].weight + kUnit * 80) + largest * static_cast<double>(keys_) * kSmallest;
    near("out", row * width + d, got_.out.at(query.b, query.h, query.i, d), want,
         head == 0 ? 0 : bound * factor);  // whatever the values are
  }
}

// Tiles against the reference; chosen rows against tiles, to the bit.
void Checker::check_maps() {
  for (std::int64_t row = 0; row < rows(); ++row) {
    for (std::int64_t j = 0; j < keys_; ++j) {
      const std::int64_t i = row * keys_ + j;
      const double w = weights(row)[j], x = scores(row)[j];
      if (x == -kInf) {
        if (tiles_[i] != 0 || std::isfinite(biased_[i])) fail("tile", i, "a hidden key", tiles_[i], 0);
        continue;
      }
      near("tile of weights", i, tiles_[i], bounds_[row].nan ? NAN : w, w * 2 * bounds_[row].weight + kSmallest);
      near("tile of biased scores", i, biased_[i], x,
           std::abs(x) > 1e30 ? bounds_[row].score + std::abs(x) * 4 * kUnit : bounds_[row].score);
    }
  }
  const auto chosen = static_cast<std::int64_t>(recipe_.rows.size());
  for (std::int64_t n = 0; n < batch_ * heads_ * chosen * keys_; ++n) {
    const std::int64_t plane = n / keys_ / chosen, row = plane * queries_ + recipe_.rows[n / keys_ % chosen];
    const float tile = tiles_[row * keys_ + n % keys_];
    if (!same_bits(got_.row_weights[n], tile)) fail("row_weights", n, "not the tile's bits", got_.row_weights[n], tile);
  }
}

// Of keys in use of the row's own sequence, hidden or not.
void Checker::check_stage(Stage stage) {
  const auto map = got_.map(p_, stage);
  const auto expected = reference::scores(p_, stage);
  for (std::int64_t row = 0; row < rows(); ++row) {
    const reference::Query& query = query_[row];
    for (std::int64_t n = 0; n < query.key_count; ++n) {
      const std::int64_t i = row * keys_ + query.first_key + n;
      near(stage == Stage::raw ? "tile of raw scores" : "tile of capped scores", i, map[i], expected[i],
           raw_score_bound(random_, query, n));
    }
  }
}

void Checker::check_topk() {
  const auto measured =
      recipe_.measure == Measure::weight ? std::vector<double>() : reference::measured(p_, want_, recipe_.measure);
  for (std::int64_t row = 0; row < rows(); ++row) {
    if (bounds_[row].nan) continue;
    if (measured.empty()) {
      check_topk_by_score(row);
    } else {
      check_topk_by_value(row, measured.data() + row * keys_);
    }
  }
}

// By the kernel's own scores, ties by lower key: exact.
void Checker::check_topk_by_score(std::int64_t row) {
  const float* own = biased_.data() + row * keys_;
  std::vector<std::int64_t> order(keys_);
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::int64_t j) { return own[j] == -kInf; });
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return own[a] > own[b]; });
  for (int rank = 0; rank < recipe_.top_k; ++rank) {
    const std::int64_t i = row * recipe_.top_k + rank;
    const bool there = rank < static_cast<std::int64_t>(order.size());
    const std::int64_t key = there ? order[rank] - query_[row].first_key : -1;
    const float weight = there ? tiles_[row * keys_ + order[rank]] : 0;
    if (got_.topk_index[i] != key) fail("topk_index", i, "another key", got_.topk_index[i], static_cast<double>(key));
    if (!same_bits(got_.topk_weight[i], weight))
      fail("topk_weight", i, "not the tile's bits", got_.topk_weight[i], weight);
  }
}

// Each place has the measure that the reference has there, to rounding; measures that fp32 loses may be left out.
void Checker::check_topk_by_value(std::int64_t row, const double* measured) {
  const reference::Query& query = query_[row];
  std::vector<double> order;
  double longest = 1;
  for (std::int64_t n = 0; n < query.key_count; ++n) {
    const std::int64_t j = query.first_key + n;
    if (scores(row)[j] == -kInf) continue;
    if (!std::isfinite(measured[j])) return;
    longest = std::max(longest, value_length(random_, query, n));
    order.push_back(measured[j]);
  }
  std::sort(order.begin(), order.end(), std::greater<>());
  const double relative = 4 * bounds_[row].weight + kUnit * (static_cast<double>(p_.v.shape[3]) + 16) * longest;
  std::set<std::int64_t> met;
  for (int rank = 0; rank < recipe_.top_k; ++rank) {
    const std::int64_t i = row * recipe_.top_k + rank, key = got_.topk_index[i];
    const double want = rank < static_cast<std::int64_t>(order.size()) ? order[rank] : 0;
    if (key < 0) {
      near("measure of a place of topk_index that is empty", i, 0, want, kNegligible);
      near("topk_weight", i, got_.topk_weight[i], 0, 0);
      continue;
    }
    const std::int64_t j = query.first_key + key;
    if (key >= query.key_count || scores(row)[j] == -kInf) return fail("topk_index", i, "a hidden key", j, -1);
    if (!met.insert(key).second) fail("topk_index", i, "a key that was there before", j, -1);
    near("measure of topk_index", i, measured[j], want, want * relative + kNegligible);
    const float tile = tiles_[row * keys_ + j];
    if (!same_bits(got_.topk_weight[i], tile)) fail("topk_weight", i, "not the tile's bits", got_.topk_weight[i], tile);
  }
}

// In the place of weights, how far each may be off as it enters a sum: what is asked of them is linear.
reference::Result Checker::bounds_of_weights() const {
  reference::Result bounds = want_;
  const auto terms = static_cast<double>(queries_ + keys_);
  const bool lengths = recipe_.measure == Measure::value_weight;
  for (std::int64_t row = 0; row < rows(); ++row) {
    const reference::Query& query = query_[row];
    double* bound = bounds.weights.data() + row * keys_;
    if (bounds_[row].nan) {  // also of keys that it did not see
      std::fill_n(bound, keys_, NAN);
      std::fill_n(bounds.scores.begin() + row * keys_ + query.first_key, query.key_count, 0);
      continue;
    }
    for (std::int64_t n = 0; n < query.key_count; ++n) {
      const std::int64_t j = query.first_key + n;
      if (scores(row)[j] == -kInf) continue;
      const double length = lengths ? value_length(random_, query, n) : 1;
      const double roundings = terms + (lengths ? static_cast<double>(p_.v.shape[3]) + 8 : 0);
      bound[j] = weights(row)[j] * length * (2 * bounds_[row].weight + kUnit * roundings) + kSmallest * (length + 1);
    }
  }
  return bounds;
}

void Checker::check_sum(const char* what, const std::vector<float>& got, const std::vector<double>& expected,
                        const std::vector<double>& bounds) {
  if (got.size() != expected.size()) return fail(what, 0, "another size", got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Of a row that is NaN. A single weight that it did see is NaN, but for one that fp32 loses times a NaN length.
    const bool single = &got == &got_.offset_mass && recipe_.measure == Measure::weight;
    if (std::isnan(bounds[i]) && !(single && std::isnan(expected[i]))) continue;
    near(what, static_cast<std::int64_t>(i), got[i], expected[i], bounds[i] + kSmallest);
  }
}

void Checker::check_sums() {
  Observations see = got_.request(recipe_);
  see.topk_index = nullptr;
  see.topk_weight = nullptr;
  const auto expected = reference::observe(p_, want_, see);
  see.measure = Measure::weight;
  const auto bounds = reference::observe(p_, bounds_of_weights(), see);
  check_sum("offset_mass", got_.offset_mass, expected.offset_mass, bounds.offset_mass);
  check_sum("segment_mass", got_.segment_mass, expected.segment_mass, bounds.segment_mass);
  check_sum("key_mass", got_.key_mass, expected.key_mass, bounds.key_mass);
  check_sum("overview", got_.overview, expected.overview, bounds.overview);
}

// -0 would make bits depend on which of two equal maxima a target keeps.
void Checker::check_zeros() {
  for (const auto& [name, values] : got_.arrays()) {
    const auto negative = [](float x) { return x == 0 && std::signbit(x); };
    const auto found = std::find_if(values->begin(), values->end(), negative);
    if (found != values->end()) fail(name, found - values->begin(), "a negative zero", *found, 0);
  }
  for (std::int64_t i = 0; i < rows() * p_.v.shape[3]; ++i) {
    const reference::Query& query = query_[i / p_.v.shape[3]];
    const float x = got_.out.at(query.b, query.h, query.i, i % p_.v.shape[3]);
    if (x == 0 && std::signbit(x)) fail("out", i, "a negative zero", x, 0);
  }
}

}  // namespace

std::string check_against_reference(const RandomProblem& random, const ObservationRecipe& recipe, Observed& got,
                                    const reference::Result& expected) {
  return Checker(random, recipe, got, expected).run();
}

}  // namespace sightline::testing
