#include "tests/attention/contiguous.h"

#include <cstring>

namespace sightline::testing {
namespace {

// Where the keys in use of a sequence begin in a dense tensor, and how many they are.
struct Run {
  std::int64_t sequence, b, first, count;
};

std::vector<Run> runs_of(const AttentionProblem& p) {
  const bool packed = !p.cu_seqlens_k.empty();
  const std::int64_t sequences = packed ? static_cast<std::int64_t>(p.cu_seqlens_k.size()) - 1 : p.k.shape[0];
  std::vector<Run> runs;
  for (std::int64_t s = 0; s < sequences; ++s) {
    Run run{s, packed ? 0 : s, packed ? p.cu_seqlens_k[s] : 0, p.k.shape[2]};
    if (packed) run.count = p.cu_seqlens_k[s + 1] - run.first;
    if (!p.sequences.empty() && p.sequences[s].key_count >= 0) run.count = p.sequences[s].key_count;
    runs.push_back(run);
  }
  return runs;
}

}  // namespace

Contiguous::Contiguous(const AttentionProblem& paged) : problem_(paged) {
  k_ = gather(paged, problem_.k, paged.pages.k_page_stride);
  v_ = gather(paged, problem_.v, paged.pages.v_page_stride);
  problem_.k.data = k_.data();
  problem_.v.data = v_.data();
  problem_.pages = {};
}

// Keys that are not in use are NaN.
std::vector<std::byte> Contiguous::gather(const AttentionProblem& paged, TensorView& view,
                                          std::int64_t page_stride) const {
  const TensorView pool = view;
  const std::int64_t batch = pool.shape[0], heads = pool.shape[1], keys = pool.shape[2], width = pool.shape[3];
  const bool packed = is_packed(pool.dtype);
  const auto row_size = static_cast<std::int64_t>(row_bytes(pool.dtype, width));
  const std::int64_t element = packed ? 1 : static_cast<std::int64_t>(dtype_size(pool.dtype));
  std::vector<std::byte> bytes(batch * heads * keys * row_size + 1, std::byte{0xFF});
  const auto copy = [&](const Run& run, std::int64_t h, std::int64_t n) {
    const PageTable& pages = paged.pages;
    const std::int64_t page = pages.table[run.sequence * pages.table_stride + n / pages.page_size];
    const auto* from = static_cast<const std::byte*>(pool.data) +
                       (page * page_stride + h * pool.strides[1] + n % pages.page_size * pool.strides[2]) * element;
    std::byte* to = bytes.data() + ((run.b * heads + h) * keys + run.first + n) * row_size;
    if (packed) std::memcpy(to, from, row_size);
    for (std::int64_t d = 0; d < width && !packed; ++d)
      std::memcpy(to + d * element, from + d * pool.strides[3] * element, element);
  };
  for (const Run& run : runs_of(paged)) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t n = 0; n < run.count; ++n) copy(run, h, n);
    }
  }
  const std::int64_t row = row_size / element;
  view.strides = {heads * keys * row, keys * row, row, 1};
  return bytes;
}

}  // namespace sightline::testing
