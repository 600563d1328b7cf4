#include "tests/attention/part.h"

#include <algorithm>

#include "src/attention/reference_scores.h"

namespace sightline::testing {
namespace {

std::int64_t element_size(const TensorView& view) {
  return is_packed(view.dtype) ? 1 : static_cast<std::int64_t>(dtype_size(view.dtype));
}

// [begin, begin + count) of one axis; an axis of size 1 that is shared by all indexes stays.
void cut(TensorView& view, int axis, std::int64_t begin, std::int64_t count, bool broadcasts) {
  if (!view || (broadcasts && view.shape[axis] == 1)) return;
  view.data = static_cast<const std::byte*>(view.data) + begin * view.strides[axis] * element_size(view);
  view.shape[axis] = count;
}

// A function of the whole, called with the whole's indexes.
class ShiftedScoreFunction final : public ScoreFunction {
 public:
  ShiftedScoreFunction(const ScoreFunction& whole, std::int64_t batch, std::int64_t head, std::int64_t first_row)
      : whole_(whole), batch_(batch), head_(head), first_row_(first_row) {}
  void apply(const ScoreTile& tile) const override {
    ScoreTile shifted = tile;
    shifted.batch += batch_;
    shifted.head += head_;
    shifted.first_row += first_row_;
    whole_.apply(shifted);
  }

 private:
  const ScoreFunction& whole_;
  std::int64_t batch_, head_, first_row_;
};

}  // namespace

Part::~Part() = default;

Part::Part(const AttentionProblem& whole, std::int64_t batch, std::int64_t head, std::int64_t row_begin,
           std::int64_t row_end)
    : problem_(whole) {
  const auto query = reference::locate(whole, batch, head, row_begin);
  span_ = {query.key_count, query.key_position, query.position};
  first_key_ = query.first_key;
  problem_.sequences = {&span_, 1};
  problem_.cu_seqlens_q = problem_.cu_seqlens_k = {};
  problem_.q.shape[2] = row_end - row_begin;
  if (!whole.cu_seqlens_k.empty()) {
    const std::int64_t begin = whole.cu_seqlens_k[query.sequence];
    problem_.k.shape[2] = problem_.v.shape[2] = whole.cu_seqlens_k[query.sequence + 1] - begin;
  }
  cut_tensors(whole, batch, head, row_begin);
  if (whole.pages) cut_pages(whole, query.sequence);
  cut_by_head(whole, head);
  if (!whole.tree_parents.empty()) cut_tree(whole, batch);
  if (!whole.cuts.empty() || whole.block_mask || whole.mask_function != nullptr)
    hide_by_mask(whole, batch, head, row_begin);
  if (whole.score_function == nullptr) return;
  score_function_ = std::make_unique<ShiftedScoreFunction>(*whole.score_function, query.sequence, head, query.row);
  problem_.score_function = score_function_.get();
}

void Part::cut_tensors(const AttentionProblem& whole, std::int64_t batch, std::int64_t head, std::int64_t row_begin) {
  const std::int64_t rows = problem_.q.shape[2], keys = problem_.k.shape[2];
  for (TensorView* view : {&problem_.q, &problem_.mask, &problem_.bias, &problem_.keep}) {
    const bool broadcasts = view != &problem_.q;
    cut(*view, 0, batch, 1, broadcasts);
    cut(*view, 1, head, 1, broadcasts);
    cut(*view, 2, row_begin, rows, broadcasts);
    if (broadcasts) cut(*view, 3, first_key_, keys, broadcasts);
  }
  const std::int64_t kv_head = head / (whole.q.shape[1] / whole.k.shape[1]);
  for (TensorView* view : {&problem_.k, &problem_.v}) {
    cut(*view, 1, kv_head, 1, false);
    if (whole.pages) {
      view->shape[0] = 1;
      continue;
    }
    cut(*view, 0, batch, 1, false);
    cut(*view, 2, first_key_, keys, false);
  }
}

void Part::cut_pages(const AttentionProblem& whole, std::int64_t sequence) {
  problem_.pages.table = whole.pages.table + sequence * whole.pages.table_stride;
}

void Part::cut_by_head(const AttentionProblem& whole, std::int64_t head) {
  for (auto* numbers : {&problem_.alibi_slopes, &problem_.sinks, &problem_.head_scale}) {
    if (!numbers->empty()) *numbers = numbers->subspan(static_cast<std::size_t>(head), 1);
  }
  if (!whole.relative_bias) return;
  for (std::int64_t bucket = 0; bucket < whole.relative_bias.buckets; ++bucket)
    table_.push_back(whole.relative_bias.table[bucket * whole.q.shape[1] + head]);
  problem_.relative_bias.table = table_;
}

// The nodes say where they stand.
void Part::cut_tree(const AttentionProblem& whole, std::int64_t batch) {
  const auto nodes = static_cast<std::size_t>(whole.q.shape[2]);
  if (whole.tree_parents.size() != nodes) problem_.tree_parents = whole.tree_parents.subspan(batch * nodes, nodes);
  span_.query_position.reset();
}

void Part::hide_by_mask(const AttentionProblem& whole, std::int64_t batch, std::int64_t head, std::int64_t row_begin) {
  const std::int64_t rows = problem_.q.shape[2], keys = problem_.k.shape[2];
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto query = reference::locate(whole, batch, head, row_begin + i);
    for (std::int64_t n = 0; n < keys; ++n)
      mask_.push_back(n < query.key_count && reference::sees(whole, query, n) ? 1 : 0);
  }
  problem_.cuts = {};
  problem_.block_mask = {};
  problem_.mask_function = nullptr;
  problem_.mask = {mask_.data(), DType::boolean, {1, 1, rows, keys}, {0, 0, keys, 1}};
}

void Part::cut_keys(std::int64_t count) {
  if (problem_.pages) {
    problem_.k.shape[2] = problem_.v.shape[2] = count;
  } else {
    for (TensorView* view : {&problem_.k, &problem_.v}) cut(*view, 2, 0, count, false);
  }
  for (TensorView* view : {&problem_.mask, &problem_.bias, &problem_.keep}) cut(*view, 3, 0, count, true);
  span_.key_count = std::min(span_.key_count, count);
}

std::int64_t Part::reach() const {
  const std::int64_t last =
      *span_.query_position + problem_.q.shape[2] - 1 - span_.key_position;  // key index of the last row
  return std::clamp<std::int64_t>(problem_.causal ? last + 1 : span_.key_count, 0, span_.key_count);
}

}  // namespace sightline::testing
