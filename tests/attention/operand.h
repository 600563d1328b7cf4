#ifndef SIGHTLINE_TESTS_ATTENTION_OPERAND_H_
#define SIGHTLINE_TESTS_ATTENTION_OPERAND_H_

#include <cstdint>
#include <functional>

#include "sightline/attention.h"
#include "tests/attention/paging.h"
#include "tests/attention/strided.h"

namespace sightline::testing {

/// Queries, keys or values as a problem has them: in some format and layout, perhaps in pages. What holds no element is
/// NaN.
class Operand {
 public:
  struct Place {
    std::int64_t outer = -1, slot = 0;  // batch and row of a tensor, or page and slot; outer -1: nowhere
  };
  using Locate = std::function<Place(std::int64_t b, std::int64_t j)>;

  Operand() = default;
  /// `values` are the numbers to store, [B, H, N, W]. Where rows share memory, the last one to be written is there.
  Operand(const Strided<float>& values, DType dtype, Layout layout);
  Operand(const Strided<float>& values, DType dtype, Layout layout, const Paging& paging, const Locate& locate);

  /// In pages its stride 0 is that of pages.
  const TensorView& view() const { return view_; }
  /// What is stored, without its sign; in q4_1 the sum of its two parts.
  float magnitude(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) const;

 private:
  void store(const Strided<float>& values, std::int64_t outer_size, std::int64_t slots, Layout layout);
  void make_storage(const Shape4& shape, Layout layout);
  void put_row(const Place& place, std::int64_t h, const std::vector<float>& row);

  DType dtype_ = DType::f32;
  Locate locate_;
  Strided<float> floats_, magnitudes_;
  Strided<std::uint16_t> halves_;
  Strided<std::uint8_t> rows_;
  TensorView view_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_OPERAND_H_
