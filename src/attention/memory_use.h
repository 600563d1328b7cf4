#ifndef SIGHTLINE_ATTENTION_MEMORY_USE_H_
#define SIGHTLINE_ATTENTION_MEMORY_USE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "sightline/attention.h"
#include "src/attention/geometry.h"

namespace sightline {

/// The bytes that a strided tensor takes: runs of `run` bytes, the first at `first` and the others apart by the axes.
struct Footprint {
  struct Axis {
    std::int64_t stride = 0;  // bytes, > 0
    std::int64_t last = 0;    // index, > 0
  };

  std::int64_t first = 0, run = 0;  // an address; run 0: no byte at all
  int axis_count = 0;
  std::array<Axis, 4> axes{};  // ascending strides

  Footprint() = default;
  /// Takes no byte where a size is 0, or where it is larger than any memory.
  explicit Footprint(const TensorView& tensor);

  /// How far the axes reach: the last run begins at first + reach().
  std::int64_t reach() const;

 private:
  void add(std::int64_t stride, std::int64_t size);
  void join();
};

/// Whether a byte belongs to both. Exact for what interleaves as heads and columns of one buffer do; where strides fit
/// one another so ill that the search grows long, no.
bool overlap(const Footprint& a, const Footprint& b);

/// Whether elements of a tensor surely share memory: a step along one axis ends where some steps along another do.
bool shares_memory_within(const MutableTensorView& tensor);

/// What a call reads and writes.
class MemoryUse {
 public:
  void reads(const char* name, const TensorView& tensor) { add(name, tensor, false); }
  void reads(const char* name, std::span<const float> numbers);
  void writes(const char* name, const TensorView& tensor) { add(name, tensor, true); }
  /// A dense array of f32 or i32, null where there is none; the product of `sizes` is its length.
  void writes(const char* name, const void* array, std::initializer_list<std::int64_t> sizes);

  /// The tensors and the numbers of heads. Pages are left out: the pool may hold more than this call's keys.
  void reads_problem(const AttentionProblem& problem);

  /// Throws BadArgument that names an output and what it overlaps.
  void check() const;

 private:
  struct Entry {
    const char* name;
    Footprint memory;
    bool written;
  };
  static constexpr int kMost = 32;

  void add(const char* name, const TensorView& tensor, bool written);

  int count_ = 0;
  std::array<Entry, kMost> entries_;
};

/// Throws BadArgument where the output or an array of `see` overlaps another one, or what the problem reads.
void refuse_overlaps(const AttentionProblem& problem, const Geometry& geometry, const MutableTensorView& out,
                     const Observations& see);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_MEMORY_USE_H_
