#ifndef SIGHTLINE_TOOLS_CONFORM_ARRAYS_H_
#define SIGHTLINE_TOOLS_CONFORM_ARRAYS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "sightline/tensor.h"
#include "src/format/safetensors.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::conform {

using Shape = std::vector<std::int64_t>;

std::int64_t element_count(const Shape& shape);
Shape dense_strides(const Shape& shape);

/// Numbers in row-major order, wide enough to hold what any engine gives and any file expects.
struct Array {
  Shape shape;
  std::vector<double> values;
};

/// A strided part of an Array.
struct Slice {
  std::int64_t offset = 0;
  Shape shape, strides;
};
Array take(const Array& array, const Slice& slice);

/// All elements of a tensor of any numeric dtype as numbers.
Array to_array(const format::Tensor& tensor);

/// A tensor copied to where the kernels may read it: aligned, never at a null address, in its own dtype.
class Input {
 public:
  Input(DType dtype, Shape shape, const void* bytes);
  explicit Input(const format::Tensor& tensor) : Input(tensor.dtype, tensor.shape, tensor.bytes.data()) {}
  static Input of_floats(Shape shape, const std::vector<float>& values) {
    return {DType::f32, std::move(shape), values.data()};
  }

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  const std::byte* data() const { return bytes_.data(); }
  std::byte* data() { return bytes_.data(); }

  /// A view of four axes, which begins `offset` elements into the storage.
  TensorView view(const Shape& shape, const Shape& strides, std::int64_t offset = 0) const;
  /// All of it, as a dense tensor whose missing leading axes have size 1.
  TensorView view() const;

 private:
  DType dtype_;
  Shape shape_;
  AlignedBuffer<std::byte> bytes_;
};

/// `first` then `second` along axis 2 of [batch, heads, sequence, width], dense.
Input concatenate(const TensorView& first, const TensorView& second);

struct Tolerance {
  double absolute = 0, relative = 0;
};

/// Throws Mismatch, showing the element that is farthest off, unless shapes are equal and each element of `got` is
/// within absolute + relative * |expected|. Infinities must be equal; a NaN is never expected.
void expect_close(std::string_view what, const Array& got, const Array& expected, const Tolerance& tolerance);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_ARRAYS_H_
