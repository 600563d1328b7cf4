#include "src/ops/fast_linear.h"

#include <algorithm>
#include <cstring>

#include "src/cpu/parallel.h"
#include "src/tensor/aligned_buffer.h"
#include "src/tensor/element.h"

namespace sightline::ops {
namespace {

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }
std::int64_t parts(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }

// All rows of x, packed once a call.
AlignedBuffer<std::uint16_t> pack_rows(const FastLinear& unit, const float* x, std::int64_t rows, std::int64_t in,
                                       int threads) {
  const std::int64_t group = kFastTile * padded_columns(in);
  AlignedBuffer<std::uint16_t> packed(parts(rows, kFastTile) * group);
  cpu::parallel_for(parts(rows, kFastTile), threads, [&](std::int64_t g) {
    AlignedBuffer<std::uint16_t> scratch(group);
    const std::int64_t row = g * kFastTile;
    unit.pack(x + row * in, in, std::min(kFastTile, rows - row), scratch.data(), packed.data() + g * group);
  });
  return packed;
}

// The weights of an output as fp32.
void widen_output(const WeightMatrix& weight, std::int64_t out, std::span<float> to) {
  if (!weight.transposed) return widen(weight.stored_row(out), weight.dtype, to);
  const std::byte* from = weight.data + out * static_cast<std::int64_t>(dtype_size(weight.dtype));
  for (std::int64_t i = 0; i < weight.cols; ++i) to[i] = element_as_f32(weight.dtype, from + i * weight.row_bytes());
}

// The weights of some outputs in bf16, as an instruction takes them: where they lie, or in memory of its own.
class Bf16Weights {
 public:
  // outs: of all panels; most_outs: of one.
  Bf16Weights(const FastLinear& unit, const WeightMatrix& weight, std::int64_t outs, std::int64_t most_outs)
      : unit_(unit), weight_(weight), width_(padded_columns(weight.cols)), in_place_(as_they_lie(weight)) {
    const std::int64_t most = round_up(most_outs, kFastTile) * width_;
    if (unit.turn_weights != nullptr) turned_ = AlignedBuffer<std::uint16_t>(most);
    if (in_place_ && outs % kFastTile == 0) return;
    rounded_ = AlignedBuffer<std::uint16_t>(most);
    row_ = AlignedBuffer<float>(weight.cols);
  }

  void set(const FastProducts& products, std::int64_t first, std::int64_t outs, FastPanel& panel) {
    panel.outs = outs;
    panel.weight_stride = width_;
    panel.weights = rows(products, first, outs);
    if (unit_.turn_weights == nullptr) return;
    for (std::int64_t o = 0; o < outs; o += kFastTile) {
      unit_.turn_weights(panel.weights + o * width_, width_, width_, turned_.data() + o * width_);
    }
    panel.weights = turned_.data();
  }

 private:
  static bool as_they_lie(const WeightMatrix& weight) {
    return weight.dtype == DType::bf16 && !weight.transposed && weight.cols == padded_columns(weight.cols);
  }

  const std::uint16_t* rows(const FastProducts& products, std::int64_t first, std::int64_t outs) {
    if (in_place_ && outs % kFastTile == 0) {
      return reinterpret_cast<const std::uint16_t*>(weight_.stored_row(first));
    }
    for (std::int64_t o = 0; o < outs; ++o) {
      widen_output(weight_, first + o, row_.span());
      products.round(row_.data(), weight_.cols, rounded_.data() + o * width_);
    }
    std::fill(rounded_.data() + outs * width_, rounded_.data() + round_up(outs, kFastTile) * width_, std::uint16_t{0});
    return rounded_.data();
  }

  const FastLinear& unit_;
  const WeightMatrix& weight_;
  std::int64_t width_;
  bool in_place_;
  AlignedBuffer<std::uint16_t> rounded_, turned_;
  AlignedBuffer<float> row_;
};

// Up to so many rows, weights that are rounded should not leave the first-level cache before they are used.
constexpr std::int64_t kFewRows = 24;
// Outputs of a panel are whole tiles of either instruction: 64 and 32.
constexpr std::int64_t kPanelUnit = 64;
// Rows of a task end with a tile of either instruction: 6 and 16.
constexpr std::int64_t kRowsTile = 48;

std::int64_t panel_outs(std::int64_t rows, std::int64_t width) {
  if (rows <= kFewRows) return 2 * kFastTile;
  return std::clamp<std::int64_t>((128 << 10) / width / kPanelUnit * kPanelUnit, kPanelUnit, 256);
}

}  // namespace

void fast_linear(const FastLinear& unit, const FastProducts& products, const Linear& layer, const float* x,
                 std::int64_t rows, float* y, int threads) {
  const WeightMatrix& weight = layer.weight;
  const std::int64_t width = padded_columns(weight.cols);
  const AlignedBuffer<std::uint16_t> packed = pack_rows(unit, x, rows, weight.cols, threads);
  const int workers = cpu::Workers(threads).count();
  const std::int64_t panel = panel_outs(rows, width);
  const std::int64_t task_outs =
      std::max(panel, std::min<std::int64_t>(round_up(parts(weight.rows, workers), panel), 256));
  const std::int64_t out_tasks = parts(weight.rows, task_outs);
  const std::int64_t task_rows = round_up(parts(rows, std::max<std::int64_t>(1, parts(workers, out_tasks))), kRowsTile);
  cpu::parallel_for(parts(rows, task_rows) * out_tasks, threads, [&](std::int64_t task) {
    const std::int64_t begin = task % out_tasks * task_outs, end = std::min(begin + task_outs, weight.rows);
    FastPanel work;
    work.width = width;
    work.x = packed.data();
    work.row_begin = task / out_tasks * task_rows;
    work.row_end = std::min(work.row_begin + task_rows, rows);
    work.y_stride = weight.rows;
    Bf16Weights weights(unit, weight, end - begin, std::min(panel, end - begin));
    for (std::int64_t first = begin; first < end; first += panel) {
      weights.set(products, first, std::min(panel, end - first), work);
      work.bias = layer.bias == nullptr ? nullptr : layer.bias + first;
      work.y = y + first;
      unit.compute(work);
    }
  });
}

}  // namespace sightline::ops
