#include "cli/weights.h"

#include <algorithm>

namespace sightline::cli {
namespace {

constexpr std::int64_t kStripWeights = std::int64_t{1} << 20;  // read at a time while pooling: 4 MB

// Adds rows [begin, end) to one pooled row.
void add_rows(const Weights& weights, std::int64_t begin, std::int64_t end, std::int64_t factor,
              std::span<double> sums) {
  const std::int64_t strip = std::max<std::int64_t>(1, kStripWeights / std::max<std::int64_t>(1, weights.cols));
  std::vector<float> read;
  for (std::int64_t row = begin; row < end; row += strip) {
    const std::int64_t rows = std::min(strip, end - row);
    read.resize(static_cast<std::size_t>(rows * weights.cols));
    weights.read(row, row + rows, read);
    for (std::int64_t i = 0; i < rows * weights.cols; ++i) {
      sums[static_cast<std::size_t>(i % weights.cols / factor)] += read[static_cast<std::size_t>(i)];
    }
  }
}

}  // namespace

Weights pooled(const Weights& weights, std::int64_t factor) {
  if (factor <= 1) return weights;
  const std::int64_t rows = (weights.rows + factor - 1) / factor, cols = (weights.cols + factor - 1) / factor;
  auto read = [weights, factor, cols](std::int64_t row_begin, std::int64_t row_end, std::span<float> out) {
    std::vector<double> sums(static_cast<std::size_t>(cols));
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      const std::int64_t begin = row * factor, end = std::min(begin + factor, weights.rows);
      std::fill(sums.begin(), sums.end(), 0.0);
      add_rows(weights, begin, end, factor, sums);
      for (std::int64_t col = 0; col < cols; ++col) {
        const std::int64_t width = std::min(factor, weights.cols - col * factor);
        out[static_cast<std::size_t>((row - row_begin) * cols + col)] =
            static_cast<float>(sums[static_cast<std::size_t>(col)] / static_cast<double>((end - begin) * width));
      }
    }
  };
  return {rows, cols, std::move(read)};
}

std::int64_t pooling_factor(const Weights& weights, std::int64_t most) {
  const std::int64_t side = std::max(weights.rows, weights.cols);
  return std::max<std::int64_t>(1, (side + most - 1) / most);
}

}  // namespace sightline::cli
