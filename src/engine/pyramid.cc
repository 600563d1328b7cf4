#include "src/engine/pyramid.h"

#include <algorithm>

namespace sightline::engine {
namespace {

std::int64_t cells_of(std::int64_t count, std::int64_t step) { return step == 0 ? 0 : (count + step - 1) / step; }

}  // namespace

std::int64_t Pyramid::cells(std::int64_t rows, std::int64_t keys) {
  const std::int64_t step = pyramid_step(std::max(rows, keys));
  return cells_of(rows, step) * cells_of(keys, step);
}

Pyramid::Pyramid(std::int64_t heads, std::int64_t rows, std::int64_t keys)
    : step_(pyramid_step(std::max(rows, keys))),
      rows_(rows),
      row_cells_(cells_of(rows, step_)),
      key_cells_(cells_of(keys, step_)),
      cells_(static_cast<std::size_t>(heads * cells(rows, keys))) {}

void Pyramid::ask(Observations& see) {
  if (step_ == 0) return;
  see.overview_rows = row_cells_;
  see.overview_cols = key_cells_;
  see.overview_step = step_;
  see.overview = cells_.data();
}

void Pyramid::add_rows(int head, std::int64_t row_begin, std::int64_t row_end, std::int64_t key_begin,
                       std::int64_t key_end, std::int64_t step, std::span<double> sums) const {
  const std::int64_t first = key_begin / step_, last = cells_of(key_end, step_), fold = step / step_;
  for (std::int64_t a = row_begin / step_; a < cells_of(row_end, step_); ++a) {
    const auto rows = static_cast<double>(std::min(step_, rows_ - a * step_));
    const float* cells = cells_.data() + ((head - 1) * row_cells_ + a) * key_cells_;
    for (std::int64_t begin = first, c = 0; begin < last; begin += fold, ++c) {
      double mass = 0;
      for (std::int64_t b = begin; b < std::min(begin + fold, last); ++b) mass += cells[b];
      sums[static_cast<std::size_t>(c)] += rows * mass;
    }
  }
}

}  // namespace sightline::engine
