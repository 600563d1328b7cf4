#include "tools/conform/paged.h"

#include <cstring>

namespace sightline::conform {
namespace {

// Pages from the last to the first, so that none is where a tensor would have it.
std::vector<std::int32_t> descending(std::int64_t pages) {
  std::vector<std::int32_t> table;
  for (std::int64_t page = pages; page-- > 0;) table.push_back(static_cast<std::int32_t>(page));
  return table;
}

}  // namespace

Paged::Paged(const AttentionProblem& whole, std::int64_t page_size)
    : problem_(whole),
      page_size_(page_size),
      pages_a_sequence_((whole.k.shape[2] + page_size - 1) / page_size),
      table_(descending(whole.k.shape[0] * pages_a_sequence_)),
      k_(pool_of(whole.k)),
      v_(pool_of(whole.v)) {
  problem_.k = view_of(k_, whole.k);
  problem_.v = view_of(v_, whole.v);
  problem_.pages = {table_.data(),
                    pages_a_sequence_,
                    page_size,
                    static_cast<std::int64_t>(table_.size()),
                    page_size * whole.k.shape[1] * whole.k.shape[3],
                    page_size * whole.v.shape[1] * whole.v.shape[3]};
}

// [pages, heads, slots, width]. All bits set is a NaN in every float type.
Input Paged::pool_of(const TensorView& tensor) const {
  const std::int64_t batch = tensor.shape[0], heads = tensor.shape[1], keys = tensor.shape[2], width = tensor.shape[3];
  const Shape shape{static_cast<std::int64_t>(table_.size()), heads, page_size_, width};
  const auto size = static_cast<std::int64_t>(dtype_size(tensor.dtype));
  Input pool(tensor.dtype, shape, std::vector<std::uint8_t>(element_count(shape) * size, 0xFF).data());
  const auto* from = static_cast<const std::byte*>(tensor.data);
  const auto copy_row = [&](std::int64_t b, std::int64_t h, std::int64_t j) {
    const std::int64_t page = table_[b * pages_a_sequence_ + j / page_size_];
    std::byte* to = pool.data() + ((page * heads + h) * page_size_ + j % page_size_) * width * size;
    for (std::int64_t d = 0; d < width; ++d) {
      const auto& strides = tensor.strides;
      const std::int64_t element = b * strides[0] + h * strides[1] + j * strides[2] + d * strides[3];
      std::memcpy(to + d * size, from + element * size, size);
    }
  };
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t j = 0; j < keys; ++j) copy_row(b, h, j);
    }
  }
  return pool;
}

TensorView Paged::view_of(const Input& pool, const TensorView& tensor) const {
  TensorView view = tensor;
  view.data = pool.data();
  view.strides = {0, page_size_ * tensor.shape[3], tensor.shape[3], 1};
  return view;
}

}  // namespace sightline::conform
