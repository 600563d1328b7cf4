#ifndef SIGHTLINE_TESTS_ATTENTION_STRIDED_H_
#define SIGHTLINE_TESTS_ATTENTION_STRIDED_H_

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sightline/tensor.h"

namespace sightline::testing {

using Shape4 = std::array<std::int64_t, 4>;

/// How a 4-D tensor lies in memory.
enum class Layout : std::uint8_t {
  dense,         // [b, h, s, d]
  heads_inside,  // [b, s, h, d]
  transposed,    // [b, h, d, s]: the width is not the fastest axis
  reversed,      // sequence and width run backwards
  shared_batch,  // batch stride 0
  shared_heads,  // head stride 0
  spread,        // gaps between rows and between elements
};
inline constexpr int kLayouts = 7;
const char* layout_name(Layout layout);

/// A tensor in storage of its own, whose gaps hold a value of the caller's choice.
template <class T>
class Strided {
 public:
  Strided() = default;
  Strided(DType dtype, const Shape4& shape, Layout layout, T gap);

  TensorView view() const { return {storage_.data() + origin_, dtype_, shape_, strides_}; }
  MutableTensorView mutable_view() { return {storage_.data() + origin_, dtype_, shape_, strides_}; }
  T& at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    return storage_[origin_ + b * strides_[0] + h * strides_[1] + s * strides_[2] + d * strides_[3]];
  }
  const T& at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return const_cast<Strided*>(this)->at(b, h, s, d);
  }
  const Shape4& shape() const { return shape_; }

  /// Calls set(element) for each element in row-major order.
  template <class Set>
  void fill(const Set& set) {
    for (std::int64_t b = 0; b < shape_[0]; ++b)
      for (std::int64_t h = 0; h < shape_[1]; ++h)
        for (std::int64_t s = 0; s < shape_[2]; ++s)
          for (std::int64_t d = 0; d < shape_[3]; ++d) set(at(b, h, s, d));
  }
  /// Whether everything outside the elements still is `gap`, by its bits.
  bool gaps_untouched() const;

 private:
  DType dtype_ = DType::f32;
  Shape4 shape_{}, strides_{};
  std::int64_t origin_ = 0;
  T gap_{};
  std::vector<T> storage_;
};

extern template class Strided<float>;
extern template class Strided<std::uint8_t>;
extern template class Strided<std::uint16_t>;

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_STRIDED_H_
