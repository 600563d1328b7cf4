#include "cli/weights.h"

#include <algorithm>
#include <vector>

#include "src/format/colour.h"

namespace sightline::cli {
namespace {

constexpr std::int64_t kStripWeights = std::int64_t{1} << 20;  // read at a time while pooling: 4 MB

// Adds rows [begin, end) to one pooled row.
void add_rows(const Weights& weights, std::int64_t begin, std::int64_t end, std::int64_t col_factor,
              std::span<double> sums) {
  const std::int64_t strip = std::max<std::int64_t>(1, kStripWeights / std::max<std::int64_t>(1, weights.cols));
  std::vector<float> read;
  for (std::int64_t row = begin; row < end; row += strip) {
    const std::int64_t rows = std::min(strip, end - row);
    read.resize(static_cast<std::size_t>(rows * weights.cols));
    weights.read(row, row + rows, read);
    for (std::int64_t i = 0; i < rows * weights.cols; ++i) {
      sums[static_cast<std::size_t>(i % weights.cols / col_factor)] += read[static_cast<std::size_t>(i)];
    }
  }
}

}  // namespace

Weights pooled(const Weights& weights, std::int64_t row_factor, std::int64_t col_factor) {
  if (row_factor <= 1 && col_factor <= 1) return weights;
  const std::int64_t rows = (weights.rows + row_factor - 1) / row_factor,
                     cols = (weights.cols + col_factor - 1) / col_factor;
  auto read = [=](std::int64_t row_begin, std::int64_t row_end, std::span<float> out) {
    std::vector<double> sums(static_cast<std::size_t>(cols));
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      const std::int64_t begin = row * row_factor, end = std::min(begin + row_factor, weights.rows);
      std::fill(sums.begin(), sums.end(), 0.0);
      add_rows(weights, begin, end, col_factor, sums);
      for (std::int64_t col = 0; col < cols; ++col) {
        const std::int64_t block = (end - begin) * std::min(col_factor, weights.cols - col * col_factor);
        out[static_cast<std::size_t>((row - row_begin) * cols + col)] =
            static_cast<float>(sums[static_cast<std::size_t>(col)] / static_cast<double>(block));
      }
    }
  };
  return {rows, cols, std::move(read)};
}

std::int64_t pooling_factor(const Weights& weights, std::int64_t most) {
  const std::int64_t side = std::max(weights.rows, weights.cols);
  return std::max<std::int64_t>(1, (side + most - 1) / most);
}

double Scale::place(double weight) const {
  return long_text() ? format::ease_long(weight, keys) : format::ease(weight);
}

}  // namespace sightline::cli
