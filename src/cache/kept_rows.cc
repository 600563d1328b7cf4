#include "src/cache/kept_rows.h"

#include <cstring>

#include "sightline/error.h"
#include "sightline/execution.h"

namespace sightline::cache {
namespace {

// What strides count, in bytes.
std::int64_t unit_of(DType dtype) { return is_packed(dtype) ? 1 : static_cast<std::int64_t>(dtype_size(dtype)); }

// The scale of a packed row is read as an fp32.
std::int64_t stride_of(DType dtype, std::int64_t width) {
  const auto bytes = static_cast<std::int64_t>(row_bytes(dtype, width));
  return is_packed(dtype) ? (bytes + 3) / 4 * 4 : bytes;
}

}  // namespace

KeptRows::KeptRows(DType dtype, std::int64_t heads, std::int64_t slots, std::int64_t width)
    : dtype_(dtype),
      heads_(heads),
      slots_(slots),
      width_(width),
      row_stride_(stride_of(dtype, width)),
      memory_(static_cast<std::size_t>(bytes(dtype, heads, slots, width)), huge_page_resource()) {}

std::int64_t KeptRows::bytes(DType dtype, std::int64_t heads, std::int64_t slots, std::int64_t width) {
  return heads * slots * stride_of(dtype, width);
}

void KeptRows::move(std::int64_t head, std::int64_t from, std::int64_t to, std::int64_t count) {
  std::memmove(row(head, to), row(head, from), static_cast<std::size_t>(count * row_stride_));
}

TensorView KeptRows::tensor(std::int64_t begin, std::int64_t count) const {
  const std::int64_t row = row_stride_ / unit_of(dtype_);
  return {memory_.data() + begin * row_stride_, dtype_, {1, heads_, count, width_}, {0, slots_ * row, row, 1}};
}

const std::byte* row_of(const AttentionProblem& problem, const TensorView& tensor, std::int64_t page_stride,
                        std::int64_t head, std::int64_t key) {
  const PageTable& pages = problem.pages;
  const std::int64_t page = pages.table[key / pages.page_size], slot = key % pages.page_size;
  const std::int64_t at = page * page_stride + head * tensor.strides[1] + slot * tensor.strides[2];
  return static_cast<const std::byte*>(tensor.data) + at * unit_of(tensor.dtype);
}

}  // namespace sightline::cache
