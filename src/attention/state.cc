#include "sightline/state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <string>

#include "sightline/error.h"
#include "src/attention/kernel.h"
#include "src/attention/row_states.h"
#include "src/cpu/fp_environment.h"
#include "src/cpu/target.h"

namespace sightline {
namespace {

// What merging asks of a problem: sizes, and no tensor.
HeadTask shape_of(const AttentionState::Impl& state) {
  HeadTask task;
  task.problem.width = state.width;
  task.problem.value_width = state.value_width;
  static std::byte written{};
  if (state.with_out) task.sight.out.data = &written;
  task.sight.top_k = state.top_k;
  task.sight.segments = state.segments;
  task.sight.measure = state.measure;
  task.sight.offsets = state.offsets;
  return task;
}

void check_partial(const PartialOutput& part, const MutableTensorView& out, const char* name) {
  if (part.out.shape != out.shape || part.out.dtype != DType::f32 || part.lse == nullptr) {
    throw BadArgument(std::string(name) + " must have the shape of out, be f32, and come with its lse");
  }
}

const float& element(const TensorView& t, std::int64_t offset) { return static_cast<const float*>(t.data)[offset]; }

// Of one row: the factors of both parts, and the log-sum-exp.
struct Shares {
  float a, b, lse;
};
Shares shares(float lse_a, float lse_b) {
  const double max = std::isnan(lse_a) || std::isnan(lse_b) ? std::numeric_limits<double>::quiet_NaN()
                                                            : std::max<double>(lse_a, lse_b);
  if (max == -std::numeric_limits<double>::infinity()) return {0, 0, lse_a};
  const double a = std::exp(lse_a - max), b = std::exp(lse_b - max);
  return {static_cast<float>(a / (a + b)), static_cast<float>(b / (a + b)), static_cast<float>(max + std::log(a + b))};
}

}  // namespace

AttentionState::AttentionState() = default;
AttentionState::~AttentionState() = default;
AttentionState::AttentionState(AttentionState&&) noexcept = default;
AttentionState& AttentionState::operator=(AttentionState&&) noexcept = default;

bool AttentionState::empty() const { return impl_ == nullptr; }
void AttentionState::reset(std::unique_ptr<Impl> impl) { impl_ = std::move(impl); }

void merge_states(AttentionState& left, const AttentionState& right) {
  const cpu::ScopedFpEnvironment environment;
  cpu::ensure_target();
  if (left.empty() || right.empty() || !left.impl()->matches(*right.impl())) {
    throw BadArgument("states merge if they are of the same queries and observations");
  }
  AttentionState::Impl& into = *left.impl();
  try {
    const HeadTask shape = shape_of(into);
    for (std::size_t i = 0; i < into.tiles.size(); ++i) {
      TileWorkspace scratch(shape.problem, shape.sight, {into.tiles[i].lanes, 0, 0}, std::pmr::new_delete_resource());
      merge_tile(shape.problem, shape.sight, into.rows[i], right.impl()->tiles[i], into.tiles[i], scratch);
    }
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory to merge states");
  }
  for (std::size_t s = 0; s < into.sequences.size(); ++s) {
    into.sequences[s].key_end = std::max(into.sequences[s].key_end, right.impl()->sequences[s].key_end);
  }
}

void finish_state(const AttentionProblem& problem, const AttentionState& state, const MutableTensorView& out,
                  const Observations& see) {
  if (state.empty()) throw BadArgument("there is nothing in the state");
  // A pass over no further keys.
  AttentionProblem rest = problem;
  std::vector<SequenceSpan> spans;
  for (const auto& sequence : state.impl()->sequences) spans.push_back({0, sequence.key_end, sequence.query_position});
  rest.sequences = spans;
  attention(rest, out, see, {.threads = 1, .resume = &state});
}

void merge_outputs(const PartialOutput& a, const PartialOutput& b, const MutableTensorView& out, float* lse) {
  const cpu::ScopedFpEnvironment environment;
  check_partial(a, out, "the first part");
  check_partial(b, out, "the second part");
  if (out.dtype != DType::f32) throw BadArgument("not supported: merged outputs that are not f32");
  const auto [batch, heads, rows, columns] = out.shape;
  const auto offset = [](const auto& t, std::int64_t plane, std::int64_t count, std::int64_t row, std::int64_t column) {
    return plane / count * t.strides[0] + plane % count * t.strides[1] + row * t.strides[2] + column * t.strides[3];
  };
  for (std::int64_t i = 0; i < batch * heads * rows; ++i) {
    const Shares share = shares(a.lse[i], b.lse[i]);
    for (std::int64_t column = 0; column < columns; ++column) {
      // A part without a key has no say, whatever its output holds.
      const float of_a = element(a.out, offset(a.out, i / rows, heads, i % rows, column));
      const float of_b = element(b.out, offset(b.out, i / rows, heads, i % rows, column));
      const float value = (share.a == 0 ? 0 : of_a * share.a) + (share.b == 0 ? 0 : of_b * share.b);
      static_cast<float*>(out.data)[offset(out, i / rows, heads, i % rows, column)] = value;
    }
    if (lse != nullptr) lse[i] = share.lse;
  }
}

}  // namespace sightline
