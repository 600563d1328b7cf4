#include "cli/weights.h"

#include <algorithm>
#include <bit>
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

bool is_step(std::int64_t factor) { return std::has_single_bit(static_cast<std::uint64_t>(factor)); }

// What a pooled row sees: the rows that it pools see keys from those of the first to those of the last.
std::function<engine::KeyRange(std::int64_t)> pooled_range(const Weights& weights, std::int64_t row_factor,
                                                           std::int64_t col_factor) {
  if (!weights.visible) return {};
  return [visible = weights.visible, last = weights.rows - 1, row_factor, col_factor](std::int64_t row) {
    const std::int64_t begin = visible(row * row_factor).begin;
    const std::int64_t end = visible(std::min((row + 1) * row_factor - 1, last)).end;
    return engine::KeyRange{begin / col_factor, (end + col_factor - 1) / col_factor};
  };
}

}  // namespace

Weights pooled(const Weights& weights, std::int64_t row_factor, std::int64_t col_factor) {
  if (row_factor <= 1 && col_factor <= 1) return weights;
  if (weights.at_step && col_factor > 1 && is_step(col_factor) && row_factor % col_factor == 0) {
    return pooled(weights.at_step(col_factor), row_factor / col_factor, 1);
  }
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
  return {rows, cols, std::move(read), pooled_range(weights, row_factor, col_factor)};
}

std::int64_t pooling_factor(const Weights& weights, std::int64_t most) {
  const std::int64_t side = std::max(weights.rows, weights.cols);
  const std::int64_t factor = std::max<std::int64_t>(1, (side + most - 1) / most);
  return weights.at_step ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(factor))) : factor;
}

double Scale::place(double weight) const {
  return long_text() ? format::ease_long(weight, keys) : format::ease(weight);
}

}  // namespace sightline::cli
