#include "tools/conform/arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "src/tensor/half.h"
#include "tools/conform/recorder.h"

namespace sightline::conform {
namespace {

template <class T, class Convert>
std::vector<double> convert(std::span<const std::byte> bytes, const Convert& to_number) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(to_number(element));
  }
  return values;
}

template <class T>
std::vector<double> convert(std::span<const std::byte> bytes) {
  return convert<T>(bytes, [](T element) { return element; });
}

// Calls visit(element offset) for each index of `shape` in row-major order.
void for_each_offset(const Shape& shape, const Shape& strides, const std::function<void(std::int64_t)>& visit) {
  const std::int64_t count = element_count(shape);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, offset = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    visit(offset);
  }
}

std::string where(const Shape& shape, std::int64_t index) {
  Shape indexes(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    indexes[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(indexes, ","));
}

// How far `got` is beyond its tolerance; not above 0 is within.
double excess(double got, double expected, const Tolerance& tolerance) {
  if (got == expected) return -1;
  if (!std::isfinite(got) || !std::isfinite(expected)) return INFINITY;
  return std::abs(got - expected) - (tolerance.absolute + tolerance.relative * std::abs(expected));
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

Array take(const Array& array, const Slice& slice) {
  Array part{slice.shape, {}};
  part.values.reserve(element_count(slice.shape));
  for_each_offset(slice.shape, slice.strides,
                  [&](std::int64_t offset) { part.values.push_back(array.values.at(slice.offset + offset)); });
  return part;
}

Array to_array(const format::Tensor& tensor) {
  const auto numbers = [&]() -> std::vector<double> {
    switch (tensor.dtype) {
      case DType::boolean:
      case DType::u8:
        return convert<std::uint8_t>(tensor.bytes);
      case DType::f16:
        return convert<std::uint16_t>(tensor.bytes, f16_to_f32);
      case DType::bf16:
        return convert<std::uint16_t>(tensor.bytes, bf16_to_f32);
      case DType::i32:
        return convert<std::int32_t>(tensor.bytes);
      case DType::i64:
        return convert<std::int64_t>(tensor.bytes);
      case DType::f32:
        return convert<float>(tensor.bytes);
      case DType::f64:
        return convert<double>(tensor.bytes);
      default:
        throw Skipped(fmt::format("tensors of type {} are not read here", dtype_name(tensor.dtype)));
    }
  };
  return {tensor.shape, numbers()};
}

Input::Input(DType dtype, Shape shape, const void* bytes)
    : dtype_(dtype),
      shape_(std::move(shape)),
      bytes_(std::max<std::size_t>(element_count(shape_) * dtype_size(dtype), 64)) {
  const std::size_t size = element_count(shape_) * dtype_size(dtype);
  if (size > 0) std::memcpy(bytes_.data(), bytes, size);
}

TensorView Input::view(const Shape& shape, const Shape& strides, std::int64_t offset) const {
  TensorView view;
  view.data = bytes_.data() + offset * static_cast<std::int64_t>(dtype_size(dtype_));
  view.dtype = dtype_;
  std::copy_n(shape.begin(), 4, view.shape.begin());
  std::copy_n(strides.begin(), 4, view.strides.begin());
  return view;
}

TensorView Input::view() const {
  Shape shape = shape_;
  shape.insert(shape.begin(), 4 - shape.size(), 1);
  return view(shape, conform::dense_strides(shape));
}

Input concatenate(const TensorView& first, const TensorView& second) {
  const auto [batch, heads, length, width] = first.shape;
  const Shape shape{batch, heads, length + second.shape[2], width};
  Input joined(first.dtype, shape, std::vector<std::byte>(element_count(shape) * dtype_size(first.dtype)).data());
  const std::size_t size = dtype_size(first.dtype);
  std::byte* to = joined.data();
  const auto append = [&](const TensorView& from, std::int64_t b, std::int64_t h) {
    const std::int64_t base = b * from.strides[0] + h * from.strides[1];
    for_each_offset({from.shape[2], from.shape[3]}, {from.strides[2], from.strides[3]}, [&](std::int64_t offset) {
      std::memcpy(to, static_cast<const std::byte*>(from.data) + (base + offset) * static_cast<std::int64_t>(size),
                  size);
      to += size;
    });
  };
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      append(first, b, h);
      append(second, b, h);
    }
  }
  return joined;
}

void expect_close(std::string_view what, const Array& got, const Array& expected, const Tolerance& tolerance) {
  if (got.shape != expected.shape || got.values.size() != expected.values.size()) {
    throw Mismatch(fmt::format("{}: expected shape [{}], got [{}]", what, fmt::join(expected.shape, ","),
                               fmt::join(got.shape, ",")));
  }
  std::size_t worst = 0, wrong = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double beyond = excess(got.values[i], expected.values[i], tolerance);
    wrong += beyond > 0;
    if (beyond > worst_excess) {
      worst_excess = beyond;
      worst = i;
    }
  }
  if (wrong == 0) return;
  throw Mismatch(fmt::format(
      "{}{}: expected {:.9g}, got {:.9g} (tolerance {:.2g}; {} of {} differ)", what,
      where(got.shape, static_cast<std::int64_t>(worst)), expected.values[worst], got.values[worst],
      tolerance.absolute + tolerance.relative * std::abs(expected.values[worst]), wrong, got.values.size()));
}

}  // namespace sightline::conform
