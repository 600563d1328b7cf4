// Where elements lie, and what their bits stand for: each format is decoded from its definition, one element at a time.
#include "src/attention/reference_operands.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>

#include "sightline/error.h"

namespace sightline::reference {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Sign, exponent and fraction of IEEE 754, whose exponent is biased by 2^(exponent_bits - 1) - 1.
double decode_float(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & top;
  const double fraction = std::ldexp(bits & ((1u << fraction_bits) - 1), -fraction_bits);
  const double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
  if (exponent == top) return fraction == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

double decode_f16(std::uint16_t bits) { return decode_float(bits, 5, 10); }
double decode_bf16(std::uint16_t bits) { return decode_float(bits, 8, 7); }

double decode_i8_row(const std::byte* row, std::int64_t d) {
  return static_cast<double>(load<float>(row)) * load<std::int8_t>(row + sizeof(float) + d);
}

double decode_q4_1(const std::byte* row, std::int64_t d) {
  const std::byte* block = row + d / 32 * 20;
  const double scale = decode_f16(load<std::uint16_t>(block)), minimum = decode_f16(load<std::uint16_t>(block + 2));
  const auto pair = load<std::uint8_t>(block + 4 + d % 16);
  return scale * (d % 32 < 16 ? pair & 15 : pair >> 4) + minimum;
}

double decode(DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return load<std::uint8_t>(element);
    case DType::f16:
      return decode_f16(load<std::uint16_t>(element));
    case DType::bf16:
      return decode_bf16(load<std::uint16_t>(element));
    case DType::f32:
      return load<float>(element);
    case DType::f64:
      return load<double>(element);
    default:
      throw BadArgument(std::string("not supported: attention on ") + dtype_name(dtype));
  }
}

// Element d of a row of keys or values. Offsets are in elements, for packed rows in bytes.
double row_element(const TensorView& tensor, std::int64_t row_offset, std::int64_t d) {
  const std::byte* data = static_cast<const std::byte*>(tensor.data);
  if (tensor.dtype == DType::i8_row) return decode_i8_row(data + row_offset, d);
  if (tensor.dtype == DType::q4_1) return decode_q4_1(data + row_offset, d);
  const auto size = static_cast<std::int64_t>(dtype_size(tensor.dtype));
  return decode(tensor.dtype, data + (row_offset + d * tensor.strides[3]) * size);
}

double kv_at(const PageTable& pages, std::int64_t page_stride, const TensorView& tensor, const Query& query,
             std::int64_t n, std::int64_t d) {
  const std::int64_t head = query.kv_head * tensor.strides[1];
  if (pages) {
    const std::int64_t page = pages.table[query.sequence * pages.table_stride + n / pages.page_size];
    return row_element(tensor, page * page_stride + head + n % pages.page_size * tensor.strides[2], d);
  }
  return row_element(tensor, query.b * tensor.strides[0] + head + (query.first_key + n) * tensor.strides[2], d);
}

// The packed sequence that row i belongs to: the last one to begin at or before it.
std::int64_t packed_sequence(const AttentionProblem& p, std::int64_t i) {
  std::int64_t s = 0;
  while (p.cu_seqlens_q[s + 1] <= i) ++s;
  return s;
}

std::int64_t first_tree_key(const Query& query) { return query.key_count - query.rows; }

std::int64_t depth_in_tree(const AttentionProblem& p, const Query& query, std::int64_t node) {
  const std::int32_t* parents = tree_of(p, query);
  std::int64_t depth = 0;
  for (node = parents[node]; node >= 0; node = parents[node]) ++depth;
  return depth;
}

std::int64_t position_in_tree(const AttentionProblem& p, const Query& query, std::int64_t node) {
  return query.key_position + first_tree_key(query) + depth_in_tree(p, query, node);
}

}  // namespace

const std::int32_t* tree_of(const AttentionProblem& p, const Query& query) {
  const bool shared = static_cast<std::int64_t>(p.tree_parents.size()) == p.q.shape[2];
  return p.tree_parents.data() + (shared ? query.i - query.row : query.sequence * query.rows);
}

std::int64_t sequence_count(const AttentionProblem& p) {
  return p.cu_seqlens_q.empty() ? p.q.shape[0] : static_cast<std::int64_t>(p.cu_seqlens_q.size()) - 1;
}

Extent extent(const AttentionProblem& p, std::int64_t sequence) {
  Extent part{sequence, 0, p.q.shape[2], 0, p.k.shape[2]};
  if (p.cu_seqlens_q.empty()) return part;
  part.b = 0;
  part.first_row = p.cu_seqlens_q[sequence];
  part.rows = p.cu_seqlens_q[sequence + 1] - part.first_row;
  if (p.cu_seqlens_k.empty()) return part;
  part.first_key = p.cu_seqlens_k[sequence];
  part.keys = p.cu_seqlens_k[sequence + 1] - part.first_key;
  return part;
}

std::int64_t index_position(const Query& query) { return query.first_position + query.row; }

Query locate(const AttentionProblem& p, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t sequence = p.cu_seqlens_q.empty() ? b : packed_sequence(p, i);
  const Extent part = extent(p, sequence);
  Query query{
      b, h, i, h / (p.q.shape[1] / p.k.shape[1]), sequence, i - part.first_row, part.rows, part.first_key, part.keys,
      0, 0, 0};
  SequenceSpan span;
  if (!p.sequences.empty()) span = p.sequences[sequence];
  if (span.key_count >= 0) query.key_count = span.key_count;
  query.key_position = span.key_position;
  const std::int64_t aligned = p.alignment == Alignment::top_left ? 0 : query.key_count - query.rows;
  query.first_position = span.query_position.value_or(span.key_position + aligned);
  query.position = index_position(query);
  if (!p.tree_parents.empty()) query.position = position_in_tree(p, query, query.row);
  return query;
}

std::int64_t position_of_key(const AttentionProblem& p, const Query& query, std::int64_t n) {
  const std::int64_t node = n - first_tree_key(query);
  if (!p.tree_parents.empty() && node >= 0) return position_in_tree(p, query, node);
  return query.key_position + n;
}

double at(const TensorView& t, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  const std::int64_t indexes[4] = {b, h, i, j};
  std::int64_t offset = 0;
  for (int axis = 0; axis < 4; ++axis) offset += t.shape[axis] == 1 ? 0 : indexes[axis] * t.strides[axis];
  const auto size = static_cast<std::int64_t>(dtype_size(t.dtype));
  return decode(t.dtype, static_cast<const std::byte*>(t.data) + offset * size);
}

double key_at(const AttentionProblem& p, const Query& query, std::int64_t n, std::int64_t d) {
  return kv_at(p.pages, p.pages.k_page_stride, p.k, query, n, d);
}

double value_at(const AttentionProblem& p, const Query& query, std::int64_t n, std::int64_t d) {
  return kv_at(p.pages, p.pages.v_page_stride, p.v, query, n, d);
}

}  // namespace sightline::reference
