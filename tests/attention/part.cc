#include "tests/attention/part.h"

#include <algorithm>

namespace sightline::testing {
namespace {

// [begin, begin + count) of one axis; an axis of size 1 that is shared by all indexes stays.
void cut(TensorView& view, int axis, std::int64_t begin, std::int64_t count, bool broadcasts) {
  if (!view || (broadcasts && view.shape[axis] == 1)) return;
  view.data = static_cast<const std::byte*>(view.data) +
              begin * view.strides[axis] * static_cast<std::int64_t>(dtype_size(view.dtype));
  view.shape[axis] = count;
}

}  // namespace

Part::Part(const AttentionProblem& whole, std::int64_t batch, std::int64_t head, std::int64_t row_begin,
           std::int64_t row_end)
    : problem_(whole) {
  const std::int64_t queries = whole.q.shape[2], keys = whole.k.shape[2];
  const std::int64_t kv_head = head / (whole.q.shape[1] / whole.k.shape[1]);
  span_ = whole.sequences.empty() ? SequenceSpan{} : whole.sequences[batch];
  if (span_.key_count < 0) span_.key_count = keys;
  const std::int64_t aligned = whole.alignment == Alignment::top_left ? 0 : span_.key_count - queries;
  span_.query_position = span_.query_position.value_or(span_.key_position + aligned) + row_begin;
  problem_.sequences = {&span_, 1};
  for (TensorView* view : {&problem_.q, &problem_.mask, &problem_.bias}) {
    const bool broadcasts = view != &problem_.q;
    cut(*view, 0, batch, 1, broadcasts);
    cut(*view, 1, head, 1, broadcasts);
    cut(*view, 2, row_begin, row_end - row_begin, broadcasts);
  }
  for (TensorView* view : {&problem_.k, &problem_.v}) {
    cut(*view, 0, batch, 1, false);
    cut(*view, 1, kv_head, 1, false);
  }
}

void Part::cut_keys(std::int64_t count) {
  for (TensorView* view : {&problem_.k, &problem_.v}) cut(*view, 2, 0, count, false);
  for (TensorView* view : {&problem_.mask, &problem_.bias}) cut(*view, 3, 0, count, true);
  span_.key_count = std::min(span_.key_count, count);
}

std::int64_t Part::reach() const {
  const std::int64_t last =
      *span_.query_position + problem_.q.shape[2] - 1 - span_.key_position;  // key index of the last row
  return std::clamp<std::int64_t>(problem_.causal ? last + 1 : span_.key_count, 0, span_.key_count);
}

}  // namespace sightline::testing
