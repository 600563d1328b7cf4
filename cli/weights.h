#ifndef SIGHTLINE_CLI_WEIGHTS_H_
#define SIGHTLINE_CLI_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <span>

#include "src/engine/score_rule.h"

namespace sightline::cli {

/// A map that is fetched in strips of rows. `read` fills `out` [row_end - row_begin, cols] with weights.
struct Weights {
  std::int64_t rows = 0, cols = 0;
  std::function<void(std::int64_t row_begin, std::int64_t row_end, std::span<float> out)> read;
  /// Columns of which the row sees anything; without it, all. Both ends never go back from row to row.
  std::function<engine::KeyRange(std::int64_t row)> visible = {};
  /// The same map in cells of `step` x `step` weights, a power of two, for maps that are too large to read whole;
  /// without it, there is no faster way than reading.
  std::function<Weights(std::int64_t step)> at_step = {};
  /// Whether all that an item's tokens would see of a column was knocked out; without it, nothing was. Pooled cells do
  /// not tell: what is knocked out counts as 0 in them.
  std::function<bool(std::int64_t row, std::int64_t col)> cut = {};

  engine::KeyRange seen(std::int64_t row) const { return visible ? visible(row) : engine::KeyRange{0, cols}; }
  bool hides() const { return visible || cut; }
  bool hides(std::int64_t row, std::int64_t col) const { return !seen(row).has(col) || (cut && cut(row, col)); }
};

/// The same map with blocks of `row_factor` x `col_factor` weights averaged into one (fewer at the far edges): the
/// mean, hidden ones counting as 0, summed in fp64. By way of at_step() where it is there and the factors are powers of
/// two.
Weights pooled(const Weights& weights, std::int64_t row_factor, std::int64_t col_factor);

/// Smallest factor that leaves at most `most` items a side; a power of two where the map has at_step().
std::int64_t pooling_factor(const Weights& weights, std::int64_t most);

/// How weights become places 0..1 on the colour scale: by weight^0.6 up to `kShortKeys` keys, else by how far they are
/// from an even look.
struct Scale {
  std::int64_t keys = 0;
  double place(double weight) const;
  bool long_text() const { return keys > kShortKeys; }
  static constexpr std::int64_t kShortKeys = 64;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WEIGHTS_H_
