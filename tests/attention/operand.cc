#include "tests/attention/operand.h"

#include <cmath>

#include "tests/attention/formats.h"

namespace sightline::testing {
namespace {

constexpr std::uint8_t kGapByte = 0xFF;     // four of them are a NaN, and two
constexpr std::uint16_t kGapHalf = 0x7FFF;  // a NaN in both half formats
constexpr std::int64_t kRowGap = 3;         // bytes after packed rows that are spread

bool is_spread(Layout layout) { return layout == Layout::spread || layout == Layout::transposed; }

// Pages have strides of their own, and a packed row lies in one piece.
Layout layout_for(Layout layout, bool paged, bool packed) {
  if (paged && layout == Layout::shared_batch) return Layout::dense;
  if (paged && layout == Layout::shared_heads) return Layout::heads_inside;
  if (packed && (layout == Layout::reversed || layout == Layout::transposed)) return Layout::heads_inside;
  if (packed && layout == Layout::spread) return Layout::dense;
  return layout;
}

Layout sharing_of(Layout layout) {
  return layout == Layout::shared_batch || layout == Layout::shared_heads ? layout : Layout::dense;
}

}  // namespace

Operand::Operand(const Strided<float>& values, DType dtype, Layout layout)
    : dtype_(dtype), locate_([](std::int64_t b, std::int64_t j) {
        return Place{b, j};
      }) {
  store(values, values.shape()[0], values.shape()[2], layout);
  for (int axis = 0; axis < 4; ++axis) view_.shape[axis] = values.shape()[axis];
}

Operand::Operand(const Strided<float>& values, DType dtype, Layout layout, const Paging& paging, const Locate& locate)
    : dtype_(dtype), locate_(locate) {
  store(values, paging.pages(), paging.page_size(), layout_for(layout, true, false));
  for (int axis = 0; axis < 4; ++axis) view_.shape[axis] = values.shape()[axis];
}

float Operand::magnitude(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) const {
  const Place place = locate_(b, j);
  return place.outer < 0 ? 0 : magnitudes_.at(place.outer, h, place.slot, d);
}

void Operand::store(const Strided<float>& values, std::int64_t outer_size, std::int64_t slots, Layout layout) {
  const auto [batch, heads, length, width] = values.shape();
  make_storage({outer_size, heads, slots, width}, layout);
  std::vector<float> row(width);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t j = 0; j < length; ++j) {
        const Place place = locate_(b, j);
        if (place.outer < 0) continue;
        for (std::int64_t d = 0; d < width; ++d) row[d] = values.at(b, h, j, d);
        put_row(place, h, row);
      }
    }
  }
}

void Operand::make_storage(const Shape4& shape, Layout wanted) {
  const Layout layout = layout_for(wanted, false, is_packed(dtype_));
  magnitudes_ = {DType::f32, shape, sharing_of(layout), 0};
  if (dtype_ == DType::f32) {
    floats_ = {dtype_, shape, layout, NAN};
    view_ = floats_.view();
  } else if (!is_packed(dtype_)) {
    halves_ = {dtype_, shape, layout, kGapHalf};
    view_ = halves_.view();
  } else {
    const auto bytes = static_cast<std::int64_t>(row_bytes(dtype_, shape[3])) + (is_spread(wanted) ? kRowGap : 0);
    rows_ = {dtype_, {shape[0], shape[1], shape[2], bytes}, layout, kGapByte};
    view_ = rows_.view();
  }
}

void Operand::put_row(const Place& place, std::int64_t h, const std::vector<float>& row) {
  const auto [outer, slot] = place;
  const auto width = static_cast<std::int64_t>(row.size());
  const EncodedRow encoded = is_packed(dtype_) ? encode_row(dtype_, row) : EncodedRow{};
  for (std::size_t i = 0; i < encoded.bytes.size(); ++i) {
    rows_.at(outer, h, slot, static_cast<std::int64_t>(i)) = encoded.bytes[i];
  }
  for (std::int64_t d = 0; d < width; ++d) {
    magnitudes_.at(outer, h, slot, d) = is_packed(dtype_) ? encoded.magnitudes[d] : stored_magnitude(dtype_, row[d]);
    if (dtype_ == DType::f32) floats_.at(outer, h, slot, d) = row[d];
    if (dtype_ == DType::f16) halves_.at(outer, h, slot, d) = to_f16(row[d]);
    if (dtype_ == DType::bf16) halves_.at(outer, h, slot, d) = to_bf16(row[d]);
  }
}

}  // namespace sightline::testing
