#include "tests/attention/strided.h"

#include <cstring>

namespace sightline::testing {
namespace {

constexpr std::int64_t kMargin = 5;  // elements before and after

struct Placement {
  Shape4 strides;
  std::int64_t origin, size;
};

Placement place(const Shape4& shape, Layout layout) {
  const auto [b, h, s, d] = shape;
  Placement p{dense_strides(shape), kMargin, b * h * s * d + 2 * kMargin};
  switch (layout) {
    case Layout::dense:
      break;
    case Layout::heads_inside:
      p.strides = {s * h * d, d, h * d, 1};
      break;
    case Layout::transposed:
      p.strides = {h * d * s, d * s, 1, s};
      break;
    case Layout::reversed:
      p.strides = {h * s * d, s * d, -d, -1};
      p.origin += s * d > 0 ? s * d - 1 : 0;
      break;
    case Layout::shared_batch:
      p.strides[0] = 0;
      break;
    case Layout::shared_heads:
      p.strides = {s * d, 0, d, 1};
      break;
    case Layout::spread: {
      const std::int64_t row = 3 * d + 1, head = s * row + 7;
      p.strides = {h * head + 2, head, row, 3};
      p.size = b * (h * head + 2) + 2 * kMargin;
      break;
    }
  }
  return p;
}

}  // namespace

const char* layout_name(Layout layout) {
  constexpr const char* kNames[] = {"dense",        "heads_inside", "transposed", "reversed",
                                    "shared_batch", "shared_heads", "spread"};
  return kNames[static_cast<int>(layout)];
}

template <class T>
Strided<T>::Strided(DType dtype, const Shape4& shape, Layout layout, T gap) : dtype_(dtype), shape_(shape), gap_(gap) {
  const Placement placement = place(shape, layout);
  strides_ = placement.strides;
  origin_ = placement.origin;
  storage_.assign(placement.size, gap);
}

template <class T>
bool Strided<T>::gaps_untouched() const {
  Strided copy = *this;
  copy.fill([&](T& element) { element = gap_; });
  for (const T& element : copy.storage_) {
    if (std::memcmp(&element, &gap_, sizeof(T)) != 0) return false;
  }
  return true;
}

template class Strided<float>;
template class Strided<std::uint8_t>;
template class Strided<std::uint16_t>;

}  // namespace sightline::testing
