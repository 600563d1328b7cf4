#include "tests/attention/reference_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

namespace sightline::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUnit = 0x1p-24;       // fp32 rounds by at most this much, relatively
constexpr double kSmallest = 0x1p-126;  // exp2 gives 0 below; smaller products may be lost

// How far fp32 may be from the exact value in one row. A score is a chain of `width` fused multiply-adds, then a
// multiplication by the scale and an addition of the bias: each rounds once, relative to at most |scale| |q| |k| and
// the score itself. That moves the exponent of a weight; exp2, the sums and the rescaling by block add a few roundings
// each.
struct RowBounds {
  double score = 0;   // absolute, of any visible score
  double weight = 0;  // relative, of any weight, sum of weights or quotient of such
  bool nan = false;   // the row holds a NaN, and all of its sums are NaN
};

class Checker {
 public:
  Checker(const RandomProblem& random, const ObservationRecipe& recipe, const Observed& got,
          const reference::Result& expected)
      : random_(random), p_(random.problem()), recipe_(recipe), got_(got), want_(expected) {
    batch_ = p_.q.shape[0];
    heads_ = p_.q.shape[1];
    queries_ = p_.q.shape[2];
    keys_ = p_.k.shape[2];
  }

  std::string run() {
    measure();
    tiles_ = got_.map(p_, Stage::weights);
    biased_ = got_.map(p_, Stage::biased);
    check_rows();
    check_outputs();
    check_maps();
    check_topk();
    check_offsets_and_segments();
    check_key_mass();
    check_overview();
    check_zeros();
    if (!got_.out.gaps_untouched()) fail("out", 0, "a gap between elements was written", 0, 0);
    return message_;
  }

 private:
  void measure();
  void measure_row(std::int64_t row);
  void check_rows();
  void check_outputs();
  void check_maps();
  void check_topk();
  void check_topk_row(std::int64_t row, const std::vector<float>& scores, const std::vector<float>& weights);
  void check_offsets_and_segments();
  void check_key_mass();
  void check_overview();
  void check_zeros();

  const double* weights(std::int64_t row) const { return want_.weights.data() + row * keys_; }
  const double* scores(std::int64_t row) const { return want_.scores.data() + row * keys_; }
  std::int64_t rows() const { return batch_ * heads_ * queries_; }
  std::int64_t kv_head(std::int64_t row) const { return row / queries_ % heads_ / (heads_ / p_.k.shape[1]); }
  std::int64_t batch_of(std::int64_t row) const { return row / queries_ / heads_; }
  SequenceSpan span(std::int64_t row) const {
    return p_.sequences.empty() ? SequenceSpan{} : p_.sequences[batch_of(row)];
  }

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
  const Observed& got_;
  const reference::Result& want_;
  std::int64_t batch_, heads_, queries_, keys_;
  std::vector<RowBounds> bounds_;
  std::vector<float> tiles_, biased_;  // the whole map, by tile()
  std::string message_;
};

double norm(const Strided<float>& tensor, std::int64_t b, std::int64_t h, std::int64_t s) {
  double squares = 0;
  for (std::int64_t d = 0; d < tensor.shape()[3]; ++d) squares += std::pow(tensor.at(b, h, s, d), 2);
  return std::sqrt(squares);
}

void Checker::measure() {
  bounds_.resize(rows());
  for (std::int64_t row = 0; row < rows(); ++row) measure_row(row);
}

void Checker::measure_row(std::int64_t row) {
  const std::int64_t b = batch_of(row), h = row / queries_ % heads_, width = p_.q.shape[3];
  const double scale = std::abs(p_.scale ? *p_.scale : 1 / std::sqrt(static_cast<double>(width)));
  double longest = 0, largest = 0, lowest = kInf;
  for (std::int64_t j = 0; j < keys_; ++j) {
    const double x = scores(row)[j];
    if (x == -kInf) continue;
    longest = std::max(longest, norm(random_.k(), b, kv_head(row), j));
    if (std::abs(x) < 1e30) largest = std::max(largest, std::abs(x));
    lowest = std::min(lowest, x);
  }
  RowBounds& bound = bounds_[row];
  bound.nan = std::isnan(want_.lse[row]);
  if (lowest == kInf) return;  // no visible key: exact
  const double product = scale * norm(random_.q(), b, h, row % queries_) * longest;
  bound.score = kUnit * ((static_cast<double>(width) + 4) * product + 4 * (largest + 3 * product)) + 1e-37;
  if (std::abs(want_.row_max[row]) > 1e30) bound.score = 4e31 * 0x1p-2;  // about the lowest float: an ulp of it is 2e31
  // Beyond 88 below the maximum a weight is 0 in fp32, whatever its error.
  const double spread = std::min(88.0, want_.row_max[row] - lowest);
  const double blocks = static_cast<double>(keys_) / 64 + 3;
  bound.weight = std::expm1(2 * std::min(bound.score, 40.0)) + kUnit * (16 * spread + 16 * blocks + 96);
}

void Checker::check_rows() {
  for (std::int64_t row = 0; row < rows(); ++row) {
    const RowBounds& bound = bounds_[row];
    const double max = want_.row_max[row];
    if (max == -kInf) {
      if (got_.row_max[row] != -kInf || got_.lse[row] != -kInf)
        fail("lse", row, "a row without visible key", got_.lse[row], -kInf);
      for (const auto* values : {&got_.row_sum, &got_.entropy, &got_.position, &got_.distance})
        near("empty row", row, (*values)[row], 0, 0);
      continue;
    }
    const double sum = want_.row_sum[row], entropy = want_.entropy[row];
    near("row_max", row, got_.row_max[row], max, bound.score);
    near("row_sum", row, got_.row_sum[row], sum, sum * bound.weight);
    near("lse", row, got_.lse[row], want_.lse[row],
         bound.score + bound.weight + 4 * kUnit * (std::abs(max) + std::log(sum) + 1));
    near("entropy", row, got_.entropy[row], entropy,
         2 * bound.score + 2 * bound.weight * (1 + 2 * std::log(sum) + entropy));
    // Weights that fp32 loses stand at most this far off.
    const double lost = kSmallest * static_cast<double>(keys_) * (2.0 * static_cast<double>(keys_) + 20000);
    // Within a block of 64 keys beside the row, distances come from differences of sums of positions.
    const double within_block = 64 * 8 * kUnit;
    near("position", row, got_.position[row], want_.position[row], want_.position[row] * 2 * bound.weight + lost);
    near("distance", row, got_.distance[row], want_.distance[row],
         want_.distance[row] * 2 * bound.weight + within_block + lost);
  }
}

void Checker::check_outputs() {
  const std::int64_t width = p_.v.shape[3];
  for (std::int64_t row = 0; row < rows(); ++row) {
    const std::int64_t b = batch_of(row), h = row / queries_ % heads_;
    std::vector<double> magnitude(width, 0), largest(width, 0);
    std::vector<bool> unclear(width, false);  // a weight so small that fp32 has 0, on a value that is not finite
    for (std::int64_t j = 0; j < keys_; ++j) {
      if (scores(row)[j] == -kInf) continue;
      for (std::int64_t d = 0; d < width; ++d) {
        const double value = std::abs(static_cast<double>(random_.v().at(b, kv_head(row), j, d)));
        magnitude[d] += weights(row)[j] * value;
        largest[d] = std::max(largest[d], value);
        if (!std::isfinite(value) && weights(row)[j] < 1e-30) unclear[d] = true;
      }
    }
    for (std::int64_t d = 0; d < width; ++d) {
      if (unclear[d]) continue;
      const double bound =
          magnitude[d] * (2 * bounds_[row].weight + kUnit * 80) + largest[d] * static_cast<double>(keys_) * kSmallest;
      near("out", row * width + d, got_.out.at(b, h, row % queries_, d), want_.out[row * width + d], bound);
    }
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

void Checker::check_topk() {
  for (std::int64_t row = 0; row < rows(); ++row) {
    if (bounds_[row].nan) continue;
    const auto of_row = [&](const std::vector<float>& map) {
      return std::vector<float>(map.begin() + row * keys_, map.begin() + (row + 1) * keys_);
    };
    check_topk_row(row, of_row(biased_), of_row(tiles_));
  }
}

// By the kernel's own scores, ties by lower key: exact.
void Checker::check_topk_row(std::int64_t row, const std::vector<float>& scores, const std::vector<float>& weights) {
  std::vector<std::int64_t> order(keys_);
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::int64_t j) { return scores[j] == -kInf; });
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  for (int rank = 0; rank < recipe_.top_k; ++rank) {
    const std::int64_t i = row * recipe_.top_k + rank;
    const bool there = rank < static_cast<std::int64_t>(order.size());
    const std::int64_t key = there ? order[rank] : -1;
    const float weight = there ? weights[key] : 0;
    if (got_.topk_index[i] != key) fail("topk_index", i, "another key", got_.topk_index[i], static_cast<double>(key));
    if (!same_bits(got_.topk_weight[i], weight))
      fail("topk_weight", i, "not the tile's bits", got_.topk_weight[i], weight);
  }
}

void Checker::check_offsets_and_segments() {
  const auto offsets = static_cast<std::int64_t>(recipe_.offsets.size());
  for (std::int64_t row = 0; row < rows(); ++row) {
    const SequenceSpan span = this->span(row);
    const std::int64_t count = span.key_count < 0 ? keys_ : span.key_count;
    const std::int64_t aligned = p_.alignment == Alignment::top_left ? 0 : count - queries_;
    const std::int64_t position = span.query_position.value_or(span.key_position + aligned) + row % queries_;
    const double relative = 2 * bounds_[row].weight;
    for (std::int64_t n = 0; n < offsets; ++n) {
      const std::int64_t j = position + recipe_.offsets[n] - span.key_position;
      const bool absent = j < 0 || j >= keys_ || scores(row)[j] == -kInf;
      const double w = absent ? 0 : bounds_[row].nan ? NAN : weights(row)[j];
      if (absent && bounds_[row].nan) continue;  // 0 or NaN
      near("offset_mass", row * offsets + n, got_.offset_mass[row * offsets + n], w,
           absent ? 0 : w * relative + kSmallest);
    }
    std::vector<double> mass(recipe_.segments, 0);
    const bool per_sequence = static_cast<std::int64_t>(recipe_.segment_of_key.size()) != keys_;
    for (std::int64_t j = 0; j < keys_; ++j) {
      const std::int32_t segment = recipe_.segment_of_key[(per_sequence ? batch_of(row) * keys_ : 0) + j];
      if (segment >= 0) mass[segment] += weights(row)[j];
    }
    for (std::int32_t s = 0; s < recipe_.segments; ++s) {
      const std::int64_t i = row * recipe_.segments + s;
      if (!bounds_[row].nan)
        near("segment_mass", i, got_.segment_mass[i], mass[s],
             mass[s] * relative + static_cast<double>(keys_) * kSmallest);
    }
  }
}

// Sums over rows: the row's own relative bound, and a rounding for each of the rows added up.
void Checker::check_key_mass() {
  const std::int64_t end = std::min(recipe_.mass_row_end, queries_);
  for (std::int64_t plane = 0; plane < batch_ * heads_; ++plane) {
    for (std::int64_t j = 0; j < keys_; ++j) {
      double mass = 0, bound = kSmallest;
      bool nan = false;
      for (std::int64_t i = recipe_.mass_row_begin; i < end; ++i) {
        const std::int64_t row = plane * queries_ + i;
        nan |= bounds_[row].nan;
        mass += weights(row)[j];
        bound += weights(row)[j] * (2 * bounds_[row].weight + kUnit * static_cast<double>(queries_)) + kSmallest;
      }
      if (!nan) near("key_mass", plane * keys_ + j, got_.key_mass[plane * keys_ + j], mass, bound);
    }
  }
}

void Checker::check_overview() {
  const std::int64_t bins_i = recipe_.overview_rows, bins_j = recipe_.overview_cols;
  const auto edge = [](std::int64_t bin, std::int64_t count, std::int64_t bins) { return bin * count / bins; };
  for (std::int64_t n = 0; n < batch_ * heads_ * bins_i * bins_j; ++n) {
    const std::int64_t plane = n / bins_j / bins_i, a = n / bins_j % bins_i, c = n % bins_j;
    const std::int64_t begin = edge(a, queries_, bins_i), end = edge(a + 1, queries_, bins_i);
    double sum = 0, bound = kSmallest;
    bool nan = false;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = plane * queries_ + i;
      nan |= bounds_[row].nan;
      for (std::int64_t j = edge(c, keys_, bins_j); j < edge(c + 1, keys_, bins_j); ++j) {
        sum += weights(row)[j];
        bound +=
            weights(row)[j] * (2 * bounds_[row].weight + kUnit * static_cast<double>(queries_ + keys_)) + kSmallest;
      }
    }
    const double count = static_cast<double>(std::max<std::int64_t>(end - begin, 1));
    if (!nan) near("overview", n, got_.overview[n], sum / count, bound / count);
  }
}

// -0 would make bits depend on which of two equal maxima a target keeps.
void Checker::check_zeros() {
  for (const auto& [name, values] : got_.arrays()) {
    const auto negative = [](float x) { return x == 0 && std::signbit(x); };
    const auto found = std::find_if(values->begin(), values->end(), negative);
    if (found != values->end()) fail(name, found - values->begin(), "a negative zero", *found, 0);
  }
  for (std::int64_t i = 0; i < rows() * p_.v.shape[3]; ++i) {
    const std::int64_t row = i / p_.v.shape[3];
    const float x = got_.out.at(batch_of(row), row / queries_ % heads_, row % queries_, i % p_.v.shape[3]);
    if (x == 0 && std::signbit(x)) fail("out", i, "a negative zero", x, 0);
  }
}

}  // namespace

std::string check_against_reference(const RandomProblem& random, const ObservationRecipe& recipe, const Observed& got,
                                    const reference::Result& expected) {
  return Checker(random, recipe, got, expected).run();
}

}  // namespace sightline::testing
