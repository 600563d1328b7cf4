#ifndef SIGHTLINE_CLI_WEIGHTS_H_
#define SIGHTLINE_CLI_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <span>

namespace sightline::cli {

/// A map that is fetched in strips of rows. `read` fills `out` [row_end - row_begin, cols] with weights.
struct Weights {
  std::int64_t rows = 0, cols = 0;
  std::function<void(std::int64_t row_begin, std::int64_t row_end, std::span<float> out)> read;
};

/// The same map with blocks of `row_factor` x `col_factor` weights averaged into one (fewer at the far edges): the
/// mean, summed in fp64.
Weights pooled(const Weights& weights, std::int64_t row_factor, std::int64_t col_factor);

/// Smallest factor that leaves at most `most` items a side.
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
