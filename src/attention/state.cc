#include "sightline/state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <string>

#include "sightline/error.h"
#include "src/attention/entry.h"
#include "src/attention/memory_use.h"
#include "src/attention/row_states.h"

namespace sightline {
namespace {

// False: there is nothing to merge.
bool check_merged(const MutableTensorView& out) {
  if (out.dtype != DType::f32) throw BadArgument("not supported: merged outputs that are not f32");
  for (const std::int64_t size : out.shape) require(size >= 0, "out has a negative size");
  require(!shares_memory_within(out), "out has strides at which its elements would share memory");
  if (std::find(out.shape.begin(), out.shape.end(), 0) != out.shape.end()) return false;
  if (!out) throw BadArgument("out has no data");
  return true;
}

// As attention() bounds them, so that no product of sizes overflows.
void check_sizes(const std::array<std::int64_t, 4>& shape) {
  constexpr std::int64_t kMost[] = {1 << 24, 1 << 24, 1 << 30, 1024};
  for (int axis = 0; axis < 4; ++axis) {
    if (shape[axis] < 0 || shape[axis] > kMost[axis]) throw BadArgument("out has sizes that no attention has");
  }
}

void check_partial(const PartialOutput& part, const MutableTensorView& out, const char* name) {
  if (part.out.shape != out.shape || part.out.dtype != DType::f32 || !part.out || part.lse == nullptr) {
    throw BadArgument(std::string(name) + " must have the shape of out, be f32, and come with its lse");
  }
  const bool in_place = part.out.data == out.data && part.out.strides == out.strides;
  require(in_place || !overlap(Footprint(part.out), Footprint(out)),
          [&] { return std::string("out must be ") + name + " itself or share no memory with it"; });
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
  enter("no memory to merge states", [&] {
    require(!left.empty() && !right.empty() && left.impl()->matches(*right.impl()),
            "states merge if they are of the same queries, precision and observations");
    left.impl()->merge(*right.impl());
  });
}

void finish_state(const AttentionProblem& problem, const AttentionState& state, const MutableTensorView& out,
                  const Observations& see) {
  if (state.empty()) throw BadArgument("there is nothing in the state");
  // A pass over no further keys.
  AttentionProblem rest = problem;
  rest.tree_parents = {};
  std::vector<SequenceSpan> spans;
  try {
    for (const auto& s : state.impl()->sequences) spans.push_back({0, s.key_end, s.query_position});
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for a list of sequences");
  }
  rest.sequences = spans;
  AttentionOptions options{.threads = 1, .resume = &state};
  if (state.impl()->fast != nullptr) options.precision = Precision::fast;
  attention(rest, out, see, options);
}

void merge_outputs(const PartialOutput& a, const PartialOutput& b, const MutableTensorView& out, float* lse) {
  const cpu::ScopedFpEnvironment environment;
  if (!check_merged(out)) return;
  check_sizes(out.shape);
  check_partial(a, out, "the first part");
  check_partial(b, out, "the second part");
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
