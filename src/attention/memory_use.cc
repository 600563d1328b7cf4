#include "src/attention/memory_use.h"

#include <algorithm>
#include <string>

#include "sightline/error.h"
#include "src/observe/tile_block.h"

namespace sightline {
namespace {

// No address lies farther from another one; sums of eight such distances fit 64 bits.
constexpr std::int64_t kFarthest = std::int64_t{1} << 58;

// Whether some multiples of the strides, each up to its last one, add up to a number of [low, high].
class BoundedSum {
 public:
  void add(const Footprint& memory) {
    for (int i = 0; i < memory.axis_count; ++i) add(memory.axes[i]);
  }

  bool meets(std::int64_t low, std::int64_t high) {
    std::sort(axes_.begin(), axes_.begin() + count_, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
    for (int i = count_; i-- > 0;) rest_[i] = rest_[i + 1] + axes_[i].stride * axes_[i].last;
    steps_ = 0;
    return search(0, low, high);
  }

 private:
  using Axis = Footprint::Axis;
  // Strides that nest, as those of dense tensors do, leave one or two multiples to try on each axis.
  static constexpr int kMostSteps = 4096;

  void add(const Axis& axis) {
    const auto same = std::find_if(axes_.begin(), axes_.begin() + count_,
                                   [&](const Axis& other) { return other.stride == axis.stride; });
    if (same != axes_.begin() + count_) {
      same->last += axis.last;
    } else {
      axes_[count_++] = axis;
    }
  }

  bool search(int at, std::int64_t low, std::int64_t high) {
    if (high < 0 || low > rest_[at]) return false;
    if (low <= 0 || high >= rest_[at]) return true;  // all that are left at 0, or at their last
    const Axis& axis = axes_[at];
    const std::int64_t short_of = std::max<std::int64_t>(0, low - rest_[at + 1]);
    const std::int64_t first = (short_of + axis.stride - 1) / axis.stride,
                       last = std::min(axis.last, high / axis.stride);
    for (std::int64_t i = first; i <= last && ++steps_ < kMostSteps; ++i) {
      if (search(at + 1, low - i * axis.stride, high - i * axis.stride)) return true;
    }
    return false;
  }

  int count_ = 0, steps_ = 0;
  std::array<Axis, 8> axes_{};
  std::array<std::int64_t, 9> rest_{};  // what the axes from this one on come to at most
};

}  // namespace

Footprint::Footprint(const TensorView& tensor) {
  if (!tensor || std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return;
  const bool packed = is_packed(tensor.dtype);
  const auto element = packed ? 1 : static_cast<std::int64_t>(dtype_size(tensor.dtype));
  first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data));
  run = packed ? static_cast<std::int64_t>(row_bytes(tensor.dtype, tensor.shape[3])) : element;
  for (int axis = 0; axis < (packed ? 3 : 4); ++axis) {
    const std::int64_t size = tensor.shape[axis], stride = tensor.strides[axis];
    if (size == 1) continue;  // its stride may be anything
    const std::int64_t farthest = kFarthest / element / size;
    if (stride < -farthest || stride > farthest) {
      run = 0;
      return;
    }
    add(stride * element, size);
  }
  join();
}

// A stride of 0 reaches nowhere; a negative one begins at the other end.
void Footprint::add(std::int64_t stride, std::int64_t size) {
  if (stride == 0) return;
  if (stride < 0) first += stride * (size - 1);
  axes[axis_count++] = {std::abs(stride), size - 1};
}

// Runs that touch become one, and axes that go on where the one before ends become one with it.
void Footprint::join() {
  std::sort(axes.begin(), axes.begin() + axis_count, [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  int kept = 0;
  for (int i = 0; i < axis_count; ++i) {
    const Axis axis = axes[i];
    if (kept == 0 && axis.stride <= run) {
      run += axis.stride * axis.last;
    } else if (kept > 0 && axis.stride == axes[kept - 1].stride * (axes[kept - 1].last + 1)) {
      axes[kept - 1].last += (axes[kept - 1].last + 1) * axis.last;
    } else {
      axes[kept++] = axis;
    }
  }
  axis_count = kept;
}

std::int64_t Footprint::reach() const {
  std::int64_t bytes = 0;
  for (int i = 0; i < axis_count; ++i) bytes += axes[i].stride * axes[i].last;
  return bytes;
}

bool shares_memory_within(const MutableTensorView& tensor) {
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return false;
  const auto stride = [&](int axis) {
    const std::int64_t s = tensor.strides[axis];
    return s < 0 ? 0 - static_cast<std::uint64_t>(s) : static_cast<std::uint64_t>(s);
  };
  for (int a = 0; a < 4; ++a) {
    if (tensor.shape[a] == 1) continue;
    if (stride(a) == 0) return true;
    for (int b = 0; b < 4; ++b) {
      if (b == a || tensor.shape[b] == 1 || stride(b) % stride(a) != 0) continue;
      if (stride(b) / stride(a) < static_cast<std::uint64_t>(tensor.shape[a])) return true;
    }
  }
  return false;
}

bool overlap(const Footprint& a, const Footprint& b) {
  if (a.run == 0 || b.run == 0) return false;
  const std::int64_t reach_a = a.reach(), reach_b = b.reach();
  if (a.first + reach_a + a.run <= b.first || b.first + reach_b + b.run <= a.first) return false;
  // A run of a and one of b meet where a's begins less than its length before b's, or b's before a's. Counted from b's
  // last run backwards, the axes of both add to the distance.
  const std::int64_t distance = a.first - (b.first + reach_b);
  BoundedSum sum;
  sum.add(a);
  sum.add(b);
  return sum.meets(1 - a.run - distance, b.run - 1 - distance);
}

void MemoryUse::add(const char* name, const TensorView& tensor, bool written) {
  const Footprint memory(tensor);
  if (memory.run > 0) entries_[count_++] = {name, memory, written};
}

void MemoryUse::reads(const char* name, std::span<const float> numbers) {
  if (numbers.empty()) return;
  reads(name, dense_view(numbers.data(), {1, 1, 1, static_cast<std::int64_t>(numbers.size())}));
}

void MemoryUse::writes(const char* name, const void* array, std::initializer_list<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count)) return;
  }
  writes(name, {array, DType::f32, {1, 1, 1, count}, {0, 0, 0, 1}});
}

void MemoryUse::reads_problem(const AttentionProblem& p) {
  reads("q", p.q);
  if (!p.pages) {
    reads("k", p.k);
    reads("v", p.v);
  }
  reads("mask", p.mask);
  reads("bias", p.bias);
  reads("keep", p.keep);
  reads("alibi_slopes", p.alibi_slopes);
  reads("sinks", p.sinks);
  reads("head_scale", p.head_scale);
}

void MemoryUse::check() const {
  for (int i = 0; i < count_; ++i) {
    for (int j = 0; j < i; ++j) {
      const Entry &later = entries_[i], &earlier = entries_[j];
      if (!later.written && !earlier.written) continue;
      if (!overlap(later.memory, earlier.memory)) continue;
      throw BadArgument(std::string(later.name) + " and " + earlier.name +
                        " share memory; what a call writes must be apart from all else that it reads or writes");
    }
  }
}

void refuse_overlaps(const AttentionProblem& problem, const Geometry& g, const MutableTensorView& out,
                     const Observations& see) {
  MemoryUse use;
  use.reads_problem(problem);
  use.writes("out", out);
  const std::int64_t heads = g.batch * g.query_heads, rows = heads * g.queries,
                     key_heads = g.key_planes() * g.query_heads,
                     overviews = static_cast<std::int64_t>(g.sequences.size()) * g.query_heads;
  use.writes("row_max", see.row_max, {rows});
  use.writes("row_sum", see.row_sum, {rows});
  use.writes("lse", see.lse, {rows});
  use.writes("entropy", see.entropy, {rows});
  use.writes("position", see.position, {rows});
  use.writes("distance", see.distance, {rows});
  use.writes("sink_weight", see.sink_weight, {rows});
  use.writes("entropy_with_sink", see.entropy_with_sink, {rows});
  use.writes("topk_index", see.topk_index, {rows, see.top_k});
  use.writes("topk_weight", see.topk_weight, {rows, see.top_k});
  use.writes("offset_mass", see.offset_mass, {rows, static_cast<std::int64_t>(see.offsets.size())});
  use.writes("key_mass", see.key_mass, {key_heads, g.keys});
  use.writes("mass_sums", see.mass_sums, {key_heads, kChains, see.mass_sums_keys});
  use.writes("segment_mass", see.segment_mass, {rows, see.segments});
  use.writes("overview", see.overview, {overviews, see.overview_rows, see.overview_cols});
  use.writes("row_weights", see.row_weights, {heads, static_cast<std::int64_t>(see.rows.size()), g.keys});
  use.check();
}

}  // namespace sightline
