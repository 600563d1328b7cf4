#include "src/attention/head_problem.h"

#include "src/tensor/element.h"

namespace sightline {
namespace {

// Strides of packed types are bytes already.
std::int64_t stride_bytes(const TensorView& tensor, std::int64_t elements) {
  return is_packed(tensor.dtype) ? elements : elements * static_cast<std::int64_t>(dtype_size(tensor.dtype));
}

std::int64_t stride_of(const TensorView& tensor, int axis) {
  return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis];
}

RowSource key_rows(const AttentionProblem& p, const Geometry& g, const TensorView& tensor, std::int64_t page_stride,
                   std::size_t sequence, std::int64_t head) {
  if (!p.pages) return rows_of(tensor, g.sequences[sequence].batch, head, g.sequences[sequence].key_begin);
  RowSource source = rows_of(tensor, 0, head, 0);
  source.pages = p.pages.table + static_cast<std::int64_t>(sequence) * p.pages.table_stride;
  source.page_size = p.pages.page_size;
  source.page_stride = stride_bytes(tensor, page_stride);
  return source;
}

// Heads of a tensor that broadcasts to [B, Hq, Nq, Nk], at the sequence's first row and key.
HeadMatrix pairs_of(const TensorView& tensor, const SequencePlan& s, std::int64_t head) {
  if (!tensor) return {};
  HeadMatrix m{static_cast<const std::byte*>(tensor.data), tensor.dtype, stride_of(tensor, 1), stride_of(tensor, 2),
               stride_of(tensor, 3)};
  const std::int64_t elements = s.batch * stride_of(tensor, 0) + head * m.head_stride + s.row_begin * m.row_stride +
                                s.key_begin * m.column_stride;
  m.data += elements * static_cast<std::int64_t>(dtype_size(tensor.dtype));
  return m;
}

const float* from_head(std::span<const float> values, std::int64_t head) {
  return values.empty() ? nullptr : values.data() + head;
}

bool in_mask_function(const HeadProblem& h, std::int64_t head, std::int64_t row, std::int64_t key) {
  float score = 0;
  h.mask_function->hide(
      {&score, 1, 1, 1, 1, h.batch, h.first_head + head, row, key, h.query_position + row, h.key_position + key});
  return score != kHidden;
}

}  // namespace

RowSource rows_of(const TensorView& tensor, std::int64_t batch, std::int64_t head, std::int64_t row) {
  RowSource source;
  source.dtype = tensor.dtype;
  source.row_stride = stride_bytes(tensor, tensor.strides[2]);
  source.column_stride = is_packed(tensor.dtype) || tensor.shape[3] == 1 ? 1 : tensor.strides[3];
  source.data = static_cast<const std::byte*>(tensor.data) +
                stride_bytes(tensor, batch * tensor.strides[0] + head * tensor.strides[1]) + row * source.row_stride;
  return source;
}

const std::byte* HeadMatrix::at(std::int64_t head, std::int64_t row, std::int64_t column) const {
  return data + (head * head_stride + row * row_stride + column * column_stride) *
                    static_cast<std::int64_t>(dtype_size(dtype));
}

bool HeadMatrix::flag(std::int64_t head, std::int64_t row, std::int64_t column) const {
  return *at(head, row, column) != std::byte{0};
}

float HeadMatrix::number(std::int64_t head, std::int64_t row, std::int64_t column) const {
  return element_as_f32(dtype, at(head, row, column));
}

KeyInterval HeadProblem::interval(std::int64_t row) const {
  const std::int64_t own = row_position(row) - key_position;
  const std::int64_t first = std::min(first_key(), keys);
  std::int64_t begin = first, end = keys;
  if (tree != nullptr) {
    // Among the nodes positions do not ascend with the index: there the tree decides, and the window key by key.
    if (window_left >= 0) begin = std::clamp<std::int64_t>(own - window_left, first, std::max(first, keys - rows));
    return {begin, keys};
  }
  if (window_left >= 0) begin = std::clamp<std::int64_t>(own - window_left, first, keys);
  if (window_right >= 0) end = std::clamp<std::int64_t>(own + window_right + 1, 0, keys);
  if (causal) end = std::min(end, std::clamp<std::int64_t>(own + 1, 0, keys));
  return {begin, std::max(begin, end)};
}

// Two rows decide, since both ends ascend with the row.
KeyInterval HeadProblem::interval(const TileRows& tile) const {
  if (tree != nullptr) return {0, keys};
  return {interval(tile.row(0)).begin, interval(tile.row(tile.live_end - 1)).end};
}

bool HeadProblem::in_tree(std::int64_t row, std::int64_t key) const {
  const std::int64_t node = key - (keys - rows);
  if (node < 0) return true;
  return tree->sees(row, node) && (window_left < 0 || tree->depth(row) - tree->depth(node) <= window_left);
}

std::int64_t HeadProblem::block_line(std::int64_t head, std::int64_t row) const {
  return block_mask_row + head * block_mask_head_stride + row / BlockMask::kBlock;
}

const BlockMask::Entry* HeadProblem::block_entry(std::int64_t line, std::int64_t column) const {
  const auto entries = block_mask->entries.begin();
  const auto begin = entries + block_mask->row_begin[line], end = entries + block_mask->row_begin[line + 1];
  const auto entry = std::lower_bound(begin, end, column,
                                      [](const BlockMask::Entry& e, std::int64_t wanted) { return e.column < wanted; });
  return entry == end || entry->column != column ? nullptr : &*entry;
}

std::uint64_t HeadProblem::block_bits(const BlockMask::Entry* entry, std::int64_t row) const {
  if (entry == nullptr) return 0;
  if (entry->bits < 0) return ~std::uint64_t{0};
  return block_mask->bits[std::int64_t{entry->bits} * BlockMask::kBlock + row % BlockMask::kBlock];
}

bool HeadProblem::visible(std::int64_t head, std::int64_t row, std::int64_t key) const {
  const KeyInterval seen = interval(row);
  if (key < seen.begin || key >= seen.end) return false;
  if (tree != nullptr && !in_tree(row, key)) return false;
  if (mask && !mask.flag(head, row, key)) return false;
  if (bias && bias.number(head, row, key) == kHidden) return false;
  if (block_mask != nullptr) {
    const BlockMask::Entry* const entry = block_entry(block_line(head, row), key / BlockMask::kBlock);
    if ((block_bits(entry, row) >> (key % BlockMask::kBlock) & 1) == 0) return false;
  }
  if (cuts != nullptr && cuts->hides(batch, first_head + head, row, key)) return false;
  return mask_function == nullptr || in_mask_function(*this, head, row, key);
}

ProblemTables::ProblemTables(const AttentionProblem& p, const Geometry& g, std::pmr::memory_resource* memory)
    : relative(memory), trees(memory) {
  if (p.relative_bias) relative.reserve(static_cast<std::size_t>(g.query_heads));
  for (std::int64_t head = 0; p.relative_bias && head < g.query_heads; ++head) {
    relative.emplace_back(p.relative_bias, g.query_heads, head, memory);
  }
  const auto nodes = static_cast<std::size_t>(g.queries);
  if (nodes > 0) trees.reserve(p.tree_parents.size() / nodes);
  for (std::size_t at = 0; at < p.tree_parents.size(); at += nodes) {
    trees.emplace_back(p.tree_parents.subspan(at, nodes), memory);
  }
  if (p.cuts.empty()) return;
  cuts.emplace(p.cuts, static_cast<std::int64_t>(g.sequences.size()), g.query_heads, g.queries, g.keys, memory);
}

HeadProblem head_problem(const AttentionProblem& p, const Geometry& g, const ProblemTables& tables,
                         std::size_t sequence, std::int64_t head, std::int64_t heads) {
  const SequencePlan& s = g.sequences[sequence];
  HeadProblem h;
  h.heads = heads;
  h.batch = static_cast<std::int64_t>(sequence);
  h.first_head = head;
  h.q = rows_of(p.q, s.batch, head, s.row_begin);
  h.q_head_stride = stride_bytes(p.q, p.q.strides[1]);
  h.k = key_rows(p, g, p.k, p.pages.k_page_stride, sequence, head / g.group());
  h.v = key_rows(p, g, p.v, p.pages.v_page_stride, sequence, head / g.group());
  h.rows = s.rows;
  h.keys = s.key_count;
  h.width = g.width;
  h.value_width = g.value_width;
  h.scale = g.scale;
  h.softcap = p.softcap;
  h.causal = p.causal;
  h.window_left = p.window_left;
  h.window_right = p.window_right;
  h.key_position = s.key_position;
  h.query_position = s.query_position;
  h.mask = pairs_of(p.mask, s, head);
  h.bias = pairs_of(p.bias, s, head);
  h.keep = pairs_of(p.keep, s, head);
  h.keep_scale = p.keep_scale;
  h.alibi_slopes = from_head(p.alibi_slopes, head);
  h.sinks = from_head(p.sinks, head);
  h.head_scale = from_head(p.head_scale, head);
  h.relative = tables.relative.empty() ? nullptr : tables.relative.data() + head;
  h.cuts = tables.cuts ? &*tables.cuts : nullptr;
  h.score_function = p.score_function;
  h.mask_function = p.mask_function;
  h.fast = tables.fast;
  if (!tables.trees.empty()) h.tree = &tables.trees[tables.trees.size() == 1 ? 0 : sequence];
  if (p.block_mask) {
    const std::int64_t lines = (g.queries + BlockMask::kBlock - 1) / BlockMask::kBlock;
    const std::int64_t plane_of_batch = p.block_mask.batch == 1 ? 0 : s.batch * p.block_mask.heads;
    h.block_mask = &p.block_mask;
    h.block_mask_head_stride = p.block_mask.heads == 1 ? 0 : lines;
    h.block_mask_row = plane_of_batch * lines + head * h.block_mask_head_stride;
  }
  return h;
}

}  // namespace sightline
