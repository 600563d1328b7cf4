#ifndef SIGHTLINE_ENGINE_PYRAMID_H_
#define SIGHTLINE_ENGINE_PYRAMID_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sightline/attention.h"

namespace sightline::engine {

/// Rows or keys of a pyramid's cell for maps with so many of the longer; 0: no pyramid, tiles are fast enough. A power
/// of two; at most 4096 cells a side, which is 64 MiB a map.
constexpr std::int64_t pyramid_step(std::int64_t longest) {
  if (longest <= 512) return 0;
  std::int64_t step = longest <= 4096 ? 16 : 64;
  while (longest > 4096 * step) step *= 2;
  return step;
}

/// The maps of a layer's heads pooled by the pass, in cells of step() x step() weights, the last ones of what is left.
/// Coarser levels are folded from it when they are asked for: 1563 x 1563 cells take a millisecond. In fp32 as the pass
/// reports it; fp16 would save a tenth of a look's memory for a second rounding.
class Pyramid {
 public:
  Pyramid() = default;
  Pyramid(std::int64_t heads, std::int64_t rows, std::int64_t keys);

  /// 0: there is none.
  std::int64_t step() const { return step_; }
  /// Whether rows or keys [begin, end) of `count` are whole cells.
  bool has(std::int64_t begin, std::int64_t end, std::int64_t count) const {
    return step_ > 0 && begin % step_ == 0 && (end % step_ == 0 || end == count);
  }

  /// Has the pass fill it.
  void ask(Observations& see);

  /// Adds the sums of the weights of rows [row_begin, row_end) and keys [key_begin, key_end) of a head (from 1) to
  /// `sums`, one for each `step` keys, a multiple of step(); both ranges are whole cells.
  void add_rows(int head, std::int64_t row_begin, std::int64_t row_end, std::int64_t key_begin, std::int64_t key_end,
                std::int64_t step, std::span<double> sums) const;

  std::size_t bytes() const { return cells_.capacity() * sizeof(float); }
  /// Numbers it keeps a head.
  static std::int64_t cells(std::int64_t rows, std::int64_t keys);

 private:
  std::int64_t step_ = 0, rows_ = 0, row_cells_ = 0, key_cells_ = 0;
  std::vector<float> cells_;  // [heads, row_cells, key_cells] mean over the rows of the weight on the keys
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_PYRAMID_H_
