#include "src/analysis/average_heads.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "src/analysis/map_tiles.h"
#include "src/cpu/parallel.h"

namespace sightline::analysis {
namespace {

// What the heads do by themselves: arrays are dense, [heads, rows, ...].
struct OwnMaps {
  std::vector<float> max, sum, entropy, sink, mixed;
  std::vector<std::int32_t> top;

  OwnMaps(const AttentionProblem& problem, int threads) {
    const std::int64_t heads = problem.q.shape[1], rows = problem.q.shape[2], width = problem.v.shape[3];
    const auto count = static_cast<std::size_t>(heads * rows);
    for (auto* values : {&max, &sum, &entropy, &sink}) values->resize(count);
    top.resize(count);
    mixed.resize(count * static_cast<std::size_t>(width));
    Observations see;
    see.row_max = max.data();
    see.row_sum = sum.data();
    see.entropy_with_sink = entropy.data();
    see.sink_weight = sink.data();
    see.top_k = 1;
    see.topk_index = top.data();
    const std::array<std::int64_t, 4> shape = {1, heads, rows, width};
    attention(problem, {mixed.data(), DType::f32, shape, dense_strides(shape)}, see, {.threads = threads});
  }
};

// What each key/value head gives where rows look evenly: [kv heads, rows, width].
std::vector<float> evenly_mixed(const AttentionProblem& problem, int threads) {
  const EvenProblem even(problem);
  const std::array<std::int64_t, 4> shape = {1, problem.k.shape[1], problem.q.shape[2], problem.v.shape[3]};
  std::vector<float> mixed(static_cast<std::size_t>(shape[1] * shape[2] * shape[3]));
  attention(even.problem(), {mixed.data(), DType::f32, shape, dense_strides(shape)}, {}, {.threads = threads});
  return mixed;
}

double information(double share) { return share > 0 ? -share * std::log(share) : 0; }

double squared(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

// Sums over some rows, and for tops over heads.
struct Sums {
  std::int64_t rows = 0;
  double divergence = 0, same_top = 0, top_on_text = 0;
  double output = 0, error = 0, even_error = 0;  // squares

  void add(const Sums& other) {
    rows += other.rows;
    divergence += other.divergence;
    same_top += other.same_top;
    top_on_text += other.top_on_text;
    output += other.output;
    error += other.error;
    even_error += other.even_error;
  }
};

class HeadAverage {
 public:
  HeadAverage(const AttentionProblem& problem, const std::vector<bool>& text, const AverageOptions& options)
      : problem_(problem),
        text_(text),
        options_(options),
        heads_(problem.q.shape[1]),
        kv_heads_(problem.k.shape[1]),
        rows_(problem.q.shape[2]),
        keys_(problem.k.shape[2]),
        width_(problem.v.shape[3]),
        own_(problem, options.threads),
        even_(evenly_mixed(problem, options.threads)),
        values_(static_cast<std::size_t>(keys_ * kv_heads_ * width_)) {
    copy_values();
  }

  AverageLoss run() {
    const std::int64_t step = tile_rows(keys_), tiles = (rows_ + step - 1) / step;
    std::vector<Sums> parts(static_cast<std::size_t>(tiles));
    TileProgress progress(options_.progress, tiles);
    cpu::parallel_for(tiles, options_.threads, [&](std::int64_t tile) {
      parts[static_cast<std::size_t>(tile)] = read_rows(tile * step, std::min((tile + 1) * step, rows_));
      progress.advance();
    });
    Sums all;
    for (const Sums& part : parts) all.add(part);
    const auto rows = static_cast<double>(all.rows), pairs = rows * static_cast<double>(heads_);
    return {all.rows,
            all.divergence / rows,
            all.same_top / pairs,
            all.top_on_text / pairs,
            std::sqrt(all.error / all.output),
            std::sqrt(all.even_error / all.output)};
  }

 private:
  // To [keys, kv heads * width], which is a linear layer as GPT-2 stores one: from weights of keys to mixed vectors.
  void copy_values() {
    const TensorView& v = problem_.v;
    for (std::int64_t key = 0; key < keys_; ++key) {
      for (std::int64_t head = 0; head < kv_heads_; ++head) {
        const std::int64_t at = head * v.strides[1] + key * v.strides[2];
        const auto size = static_cast<std::int64_t>(dtype_size(v.dtype));
        ops::widen(static_cast<const std::byte*>(v.data) + at * size, v.dtype,
                   std::span(values_).subspan(static_cast<std::size_t>((key * kv_heads_ + head) * width_),
                                              static_cast<std::size_t>(width_)));
      }
    }
  }

  // The mean map of these rows, over the keys of `range`, and of their sinks.
  struct MeanRows {
    TileRange range;
    std::vector<float> weights, sinks;  // [rows, keys of the range], [rows]

    std::span<const float> row(std::int64_t row) const {
      const auto keys = static_cast<std::size_t>(range.key_end - range.key_begin);
      return std::span(weights).subspan(static_cast<std::size_t>(row - range.row_begin) * keys, keys);
    }
  };

  MeanRows mean_rows(std::int64_t row_begin, std::int64_t row_end) const {
    MeanRows mean;
    mean.range = tile_of(problem_, 0, row_begin, row_end);
    const auto rows = static_cast<std::size_t>(row_end - row_begin);
    mean.weights.resize(rows * static_cast<std::size_t>(mean.range.key_end - mean.range.key_begin));
    mean.sinks.resize(rows);
    std::vector<float> weights(mean.weights.size());
    for (TileRange range = mean.range; range.head < heads_; ++range.head) {
      tile(problem_, {own_.max.data(), own_.sum.data()}, range, Stage::weights, weights.data());
      for (std::size_t i = 0; i < weights.size(); ++i) mean.weights[i] += weights[i];
      for (std::size_t row = 0; row < rows; ++row) mean.sinks[row] += own_.sink[at(range.head, row_begin) + row];
    }
    const float share = 1 / static_cast<float>(heads_);
    for (float& weight : mean.weights) weight *= share;
    for (float& sink : mean.sinks) sink *= share;
    return mean;
  }

  std::size_t at(std::int64_t head, std::int64_t row) const { return static_cast<std::size_t>(head * rows_ + row); }
  bool is_text(std::int64_t row) const { return text_[static_cast<std::size_t>(row + keys_ - rows_)]; }

  Sums read_rows(std::int64_t row_begin, std::int64_t row_end) const {
    const MeanRows mean = mean_rows(row_begin, row_end);
    Sums sums;
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      if (is_text(row)) compare_maps(mean, row, sums);
    }
    compare_outputs(mean, sums);
    return sums;
  }

  void compare_maps(const MeanRows& mean, std::int64_t row, Sums& sums) const {
    const std::span<const float> weights = mean.row(row);
    ++sums.rows;
    sums.divergence += information(mean.sinks[static_cast<std::size_t>(row - mean.range.row_begin)]);
    for (const float weight : weights) sums.divergence += information(weight);
    const auto top = mean.range.key_begin + (std::ranges::max_element(weights) - weights.begin());
    for (std::int64_t head = 0; head < heads_; ++head) {
      const std::int32_t own = own_.top[at(head, row)];
      sums.divergence -= own_.entropy[at(head, row)] / static_cast<double>(heads_);
      sums.same_top += own == top;
      sums.top_on_text += own >= 0 && text_[static_cast<std::size_t>(own)];
    }
  }

  // Vectors of all heads for a row of text, one after the other: those of the heads, and what they are off by where
  // they look by the mean or evenly.
  void compare_outputs(const MeanRows& mean, Sums& sums) const {
    const std::int64_t rows = mean.range.row_end - mean.range.row_begin, kv_width = kv_heads_ * width_;
    std::vector<float> mixed(static_cast<std::size_t>(rows * kv_width));
    const std::int64_t seen = mean.range.key_end - mean.range.key_begin;
    const float* values = values_.data() + mean.range.key_begin * kv_width;
    ops::linear({{reinterpret_cast<const std::byte*>(values), DType::f32, kv_width, seen, true}}, mean.weights.data(),
                rows, mixed.data(), 1);
    std::vector<float> output, error, even;
    for (std::int64_t row = mean.range.row_begin; row < mean.range.row_end; ++row) {
      if (!is_text(row)) continue;
      for (std::int64_t head = 0; head < heads_; ++head) {
        const std::int64_t kv_head = head / (heads_ / kv_heads_);
        const float* own = own_.mixed.data() + at(head, row) * static_cast<std::size_t>(width_);
        const float* by_mean = mixed.data() + (row - mean.range.row_begin) * kv_width + kv_head * width_;
        const float* evenly = even_.data() + (kv_head * rows_ + row) * width_;
        output.insert(output.end(), own, own + width_);
        std::transform(by_mean, by_mean + width_, own, std::back_inserter(error), std::minus());
        std::transform(evenly, evenly + width_, own, std::back_inserter(even), std::minus());
      }
    }
    sums.output += squared(projected(output));
    sums.error += squared(projected(error));
    sums.even_error += squared(projected(even));
  }

  std::vector<float> projected(const std::vector<float>& vectors) const {
    if (options_.output == nullptr || vectors.empty()) return vectors;
    const std::int64_t rows = std::ssize(vectors) / (heads_ * width_);
    std::vector<float> outputs(static_cast<std::size_t>(rows * options_.output->weight.rows));
    ops::linear({options_.output->weight}, vectors.data(), rows, outputs.data(), 1);
    return outputs;
  }

  const AttentionProblem& problem_;
  const std::vector<bool>& text_;
  const AverageOptions& options_;
  const std::int64_t heads_, kv_heads_, rows_, keys_, width_;
  const OwnMaps own_;
  const std::vector<float> even_;  // [kv heads, rows, width]
  std::vector<float> values_;      // [keys, kv heads, width]
};

}  // namespace

AverageLoss average_loss(const AttentionProblem& problem, const std::vector<bool>& text,
                         const AverageOptions& options) {
  return HeadAverage(problem, text, options).run();
}

}  // namespace sightline::analysis
