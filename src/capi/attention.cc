#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sightline/attention.h"
#include "sightline/error.h"
#include "sightline/sightline.h"

namespace sightline {
namespace {

using Args = sightline_attention_args;

// Where the fields that may be left out begin: the smallest struct that says anything.
constexpr std::size_t kRequiredSize = offsetof(Args, threads);
// A size above this is no size: struct_size was not set.
constexpr std::size_t kLargestSize = 1 << 16;

void require(bool holds, const char* otherwise) {
  if (!holds) throw BadArgument(otherwise);
}

bool all_zero(const char* begin, const char* end) {
  for (; begin < end; ++begin) {
    if (*begin != 0) return false;
  }
  return true;
}

// The caller's struct in this library's size.
Args read_args(const Args* passed) {
  require(passed != nullptr, "args is null");
  const std::size_t size = passed->struct_size;
  require(size >= kRequiredSize && size <= kLargestSize && size % alignof(Args) == 0,
          "struct_size must be sizeof(sightline_attention_args)");
  const char* bytes = reinterpret_cast<const char*>(passed);
  if (size > sizeof(Args)) {
    require(all_zero(bytes + sizeof(Args), bytes + size),
            "not supported: a field of sightline_attention_args that is newer than this library");
  }
  Args args{};
  std::memcpy(&args, bytes, std::min(size, sizeof(Args)));
  return args;
}

DType dtype(std::int64_t code) {
  require(code == SIGHTLINE_F32 || code == SIGHTLINE_BOOL, "dtype must be SIGHTLINE_F32 or SIGHTLINE_BOOL");
  return code == SIGHTLINE_F32 ? DType::f32 : DType::boolean;
}

Alignment alignment(std::int64_t code) {
  require(code == SIGHTLINE_BOTTOM_RIGHT || code == SIGHTLINE_TOP_LEFT,
          "alignment must be SIGHTLINE_BOTTOM_RIGHT or SIGHTLINE_TOP_LEFT");
  return code == SIGHTLINE_BOTTOM_RIGHT ? Alignment::bottom_right : Alignment::top_left;
}

template <class View, class Tensor>
View view(const Tensor& tensor) {
  return {tensor.data, dtype(tensor.dtype), std::to_array(tensor.shape), std::to_array(tensor.strides)};
}

template <class T>
std::span<const T> array(const T* data, std::int64_t count, const char* otherwise) {
  require(count >= 0 && (count == 0 || data != nullptr), otherwise);
  return {data, static_cast<std::size_t>(count)};
}

// An int field that the C interface widens, so that no padding hides in the struct.
template <class T>
T narrow(std::int64_t value, const char* otherwise) {
  require(std::in_range<T>(value), otherwise);
  return static_cast<T>(value);
}

std::vector<SequenceSpan> sequences(const Args& a) {
  std::vector<SequenceSpan> spans;
  for (const sightline_sequence& s : array(a.sequences, a.sequence_count, "sequences is null or its count negative")) {
    spans.push_back(
        {s.key_count, s.key_position, s.has_query_position != 0 ? std::optional(s.query_position) : std::nullopt});
  }
  return spans;
}

AttentionProblem problem(const Args& a, std::span<const SequenceSpan> sequences) {
  AttentionProblem p;
  p.q = view<TensorView>(a.q);
  p.k = view<TensorView>(a.k);
  p.v = view<TensorView>(a.v);
  if (a.has_scale != 0) p.scale = a.scale;
  p.causal = a.causal != 0;
  p.alignment = alignment(a.alignment);
  p.mask = view<TensorView>(a.mask);
  p.bias = view<TensorView>(a.bias);
  p.sequences = sequences;
  return p;
}

Observations observations(const Args& a) {
  Observations see;
  see.row_max = a.row_max;
  see.row_sum = a.row_sum;
  see.lse = a.lse;
  see.entropy = a.entropy;
  see.position = a.position;
  see.distance = a.distance;
  see.top_k = narrow<int>(a.top_k, "top_k must be 1 to 64");
  see.topk_index = a.topk_index;
  see.topk_weight = a.topk_weight;
  see.offsets = array(a.offsets, a.offset_count, "offsets is null or its count negative");
  see.offset_mass = a.offset_mass;
  see.key_mass = a.key_mass;
  see.mass_row_begin = a.mass_row_begin;
  if (a.mass_row_end != 0) see.mass_row_end = a.mass_row_end;
  see.segment_of_key = array(a.segment_of_key, a.segment_key_count, "segment_of_key is null or its count negative");
  see.segments = narrow<std::int32_t>(a.segments, "segments must fit 32 bits");
  see.segment_mass = a.segment_mass;
  see.overview_rows = a.overview_rows;
  see.overview_cols = a.overview_cols;
  see.overview = a.overview;
  see.rows = array(a.rows, a.row_count, "rows is null or its count negative");
  see.row_weights = a.row_weights;
  return see;
}

void run(const Args* passed) {
  const Args a = read_args(passed);
  const std::vector<SequenceSpan> spans = sequences(a);
  attention(problem(a, spans), view<MutableTensorView>(a.out), observations(a), {a.threads});
}

struct Message {
  char* text;
  std::size_t size;

  int report(int status, std::string_view line) const {
    if (text != nullptr && size > 0) {
      const std::size_t length = std::min(line.size(), size - 1);
      std::memcpy(text, line.data(), length);
      text[length] = '\0';
    }
    return status;
  }
};

}  // namespace
}  // namespace sightline

int sightline_attention(const sightline_attention_args* args, char* message, size_t message_size) {
  const sightline::Message out{message, message_size};
  try {
    sightline::run(args);
    return out.report(SIGHTLINE_OK, "");
  } catch (const sightline::BadArgument& error) {
    return out.report(SIGHTLINE_BAD_ARGUMENT, error.what());
  } catch (const sightline::OutOfMemory& error) {
    return out.report(SIGHTLINE_OUT_OF_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return out.report(SIGHTLINE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return out.report(SIGHTLINE_INTERNAL_ERROR, error.what());
  } catch (...) {
    return out.report(SIGHTLINE_INTERNAL_ERROR, "unknown fault");
  }
}

int sightline_arithmetic_version(void) { return sightline::kArithmeticVersion; }

const char* sightline_simd_target(void) {
  try {
    static const std::string target = sightline::simd_target();
    return target.c_str();
  } catch (...) {
    return nullptr;
  }
}
