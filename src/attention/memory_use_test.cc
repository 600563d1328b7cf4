#include "src/attention/memory_use.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sightline/backward.h"
#include "sightline/error.h"
#include "sightline/state.h"

namespace sightline {
namespace {

using Shape = std::array<std::int64_t, 4>;

// Where nothing is read.
const void* address(std::int64_t number) { return reinterpret_cast<const void*>(number); }

// Every byte that the view's elements take.
std::set<std::int64_t> bytes_of(const TensorView& view) {
  std::set<std::int64_t> bytes;
  const bool packed = is_packed(view.dtype);
  const auto run = static_cast<std::int64_t>(packed ? row_bytes(view.dtype, view.shape[3]) : dtype_size(view.dtype));
  Shape shape = view.shape;
  if (packed) shape[3] = shape[3] > 0 ? 1 : 0;
  for (std::int64_t a = 0; a < shape[0]; ++a) {
    for (std::int64_t b = 0; b < shape[1]; ++b) {
      for (std::int64_t c = 0; c < shape[2]; ++c) {
        for (std::int64_t d = 0; d < shape[3]; ++d) {
          const auto& s = view.strides;
          const std::int64_t element = a * s[0] + b * s[1] + c * s[2] + d * s[3];
          const auto from = reinterpret_cast<std::int64_t>(view.data) + element * (packed ? 1 : run);
          for (std::int64_t i = 0; i < run; ++i) bytes.insert(from + i);
        }
      }
    }
  }
  return bytes;
}

bool share_a_byte(const TensorView& a, const TensorView& b) {
  const auto of_a = bytes_of(a);
  for (const std::int64_t byte : bytes_of(b)) {
    if (of_a.count(byte) > 0) return true;
  }
  return false;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[number(0, static_cast<std::int64_t>(all.size()) - 1)];
  }
  // Strides of anything, or those of a dense tensor with its axes in any order and gaps between them.
  TensorView view() {
    TensorView v;
    v.dtype = one_of({DType::f32, DType::f16, DType::boolean, DType::i8_row});
    for (auto& size : v.shape) size = number(number(0, 9) == 0 ? 0 : 1, 4);
    v.data = address(100000 + number(-200, 200));
    if (number(0, 1) == 0) {
      for (auto& stride : v.strides) stride = number(-40, 40);
      return v;
    }
    std::array<int, 4> order = {0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), random_);
    std::int64_t stride = number(1, 3);
    for (const int axis : order) {
      v.strides[axis] = number(0, 3) == 0 ? -stride : stride;
      stride *= v.shape[axis] + number(0, 1);
    }
    return v;
  }

 private:
  std::mt19937 random_;
};

TEST(Overlap, IsThatOfTheBytes) {
  int shared = 0, interleaved = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    Draw draw(seed);
    const TensorView a = draw.view(), b = draw.view();
    const Footprint of_a(a), of_b(b);
    const bool expected = share_a_byte(a, b);
    ASSERT_EQ(overlap(of_a, of_b), expected) << seed;
    ASSERT_EQ(overlap(of_b, of_a), expected) << seed;
    const auto last = [](const Footprint& f) { return f.first + f.reach() + f.run; };
    const bool ranges = of_a.run > 0 && of_b.run > 0 && of_a.first < last(of_b) && of_b.first < last(of_a);
    shared += expected;
    interleaved += ranges && !expected;
  }
  EXPECT_GT(shared, 2000);
  EXPECT_GT(interleaved, 500);
}

// Heads of one buffer of queries, keys and values, [B, N, 3, H, D], for sizes that no search would get through.
TEST(Overlap, TellsLargeTensorsOfOneBufferApart) {
  const std::int64_t n = std::int64_t{1} << 30, heads = 128, width = 128, row = 3 * heads * width;
  const auto part = [&](std::int64_t which, std::int64_t by) {
    return Footprint({address(4096 + 4 * (which * heads * width + by)),
                      DType::f32,
                      {64, heads, n, width},
                      {n * row, width, row, 1}});
  };
  EXPECT_FALSE(overlap(part(0, 0), part(1, 0)));
  EXPECT_FALSE(overlap(part(2, 0), part(1, 0)));
  EXPECT_TRUE(overlap(part(0, 1), part(1, 0)));
  EXPECT_TRUE(overlap(part(1, 0), part(1, 0)));
  EXPECT_FALSE(overlap(part(0, 0), part(1, n * row * 64)));
}

TEST(Overlap, TakesStridesThatNoMemoryHasForNothing) {
  const float number = 0;
  const TensorView one = dense_view(&number, {1, 1, 1, 1});
  for (const std::int64_t stride : {INT64_MAX, INT64_MIN, std::int64_t{1} << 60}) {
    EXPECT_FALSE(overlap(Footprint({&number, DType::f32, {1, 1, 2, 2}, {0, 0, stride, 1}}), Footprint(one)));
  }
  EXPECT_TRUE(overlap(Footprint({&number, DType::f32, {1, 1, 1, 1}, {INT64_MIN, 0, 0, 0}}), Footprint(one)))
      << "the stride of an axis of size 1 is not read";
}

// One sequence of two heads, with everything observed, and all arrays apart.
struct Whole {
  static constexpr std::int64_t kRows = 3, kKeys = 5, kWidth = 4, kRoom = 1024;
  std::vector<float> numbers = std::vector<float>(40 * kRoom);
  std::vector<std::uint8_t> flags = std::vector<std::uint8_t>(4 * 2 * kRows * kKeys, 1);
  std::vector<std::int32_t> segments = std::vector<std::int32_t>(kKeys);
  std::vector<std::int64_t> offsets = {-1, 0}, rows = {0, 2};
  int taken = 0;
  AttentionProblem problem;
  Observations see;
  MutableTensorView out = dense_view(take(), {1, 2, kRows, kWidth});

  float* take() { return numbers.data() + kRoom * taken++; }
  TensorView pairs(const void* data, DType dtype) { return {data, dtype, {1, 1, kRows, kKeys}, {0, 0, kKeys, 1}}; }

  Whole() {
    problem.q = dense_view(take(), {1, 2, kRows, kWidth});
    problem.k = dense_view(take(), {1, 2, kKeys, kWidth});
    problem.v = dense_view(take(), {1, 2, kKeys, kWidth});
    problem.bias = pairs(take(), DType::f32);
    problem.mask = pairs(flags.data(), DType::boolean);
    problem.keep = pairs(flags.data() + kRows * kKeys, DType::boolean);
    problem.alibi_slopes = {take(), 2};
    problem.sinks = {take(), 2};
    problem.head_scale = {take(), 2};
    for (float** array : arrays()) *array = take();
    see.top_k = 2;
    see.topk_index = reinterpret_cast<std::int32_t*>(take());
    see.offsets = offsets;
    see.mass_sums_keys = kKeys;
    see.segment_of_key = segments;
    see.segments = 1;
    see.overview_rows = see.overview_cols = 2;
    see.rows = rows;
  }
  std::vector<float**> arrays() {
    return {&see.row_max,      &see.row_sum,     &see.lse,         &see.entropy,
            &see.position,     &see.distance,    &see.sink_weight, &see.entropy_with_sink,
            &see.topk_weight,  &see.offset_mass, &see.key_mass,    &see.mass_sums,
            &see.segment_mass, &see.overview,    &see.row_weights};
  }
  void run() { attention(problem, out, see, {.threads = 1}); }
};

// The names of arrays(), in its order.
const std::vector<std::string> kNames = {"row_max",      "row_sum",     "lse",         "entropy",
                                         "position",     "distance",    "sink_weight", "entropy_with_sink",
                                         "topk_weight",  "offset_mass", "key_mass",    "mass_sums",
                                         "segment_mass", "overview",    "row_weights"};

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "accepted";
}

void expect_named(const std::string& message, const std::string& a, const std::string& b) {
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_TRUE(message.find(a + " and " + b + " share memory") == 0 || message.find(b + " and " + a + " share") == 0)
      << message << ", not " << a << " and " << b;
}

TEST(MemoryUse, AcceptsArraysThatAreApart) {
  Whole whole;
  EXPECT_EQ(refusal([&] { whole.run(); }), "accepted");
}

TEST(MemoryUse, RefusesObservationsThatOverlapOneAnother) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      Whole whole;
      *whole.arrays()[i] = *whole.arrays()[j] + 1;  // inside of what is written there: all have two numbers or more
      expect_named(refusal([&] { whole.run(); }), kNames[i], kNames[j]);
    }
  }
}

TEST(MemoryUse, RefusesOutputsThatOverlapWhatIsRead) {
  const auto writable = [](const void* data) { return static_cast<float*>(const_cast<void*>(data)); };
  const std::vector<std::pair<std::string, std::function<const void*(const AttentionProblem&)>>> inputs = {
      {"q", [](const AttentionProblem& p) { return p.q.data; }},
      {"k", [](const AttentionProblem& p) { return p.k.data; }},
      {"v", [](const AttentionProblem& p) { return p.v.data; }},
      {"bias", [](const AttentionProblem& p) { return p.bias.data; }},
      {"alibi_slopes", [](const AttentionProblem& p) { return p.alibi_slopes.data(); }},
      {"sinks", [](const AttentionProblem& p) { return p.sinks.data(); }},
      {"head_scale", [](const AttentionProblem& p) { return p.head_scale.data(); }},
  };
  for (const auto& [name, input] : inputs) {
    Whole whole;
    whole.out.data = writable(input(whole.problem));
    expect_named(refusal([&] { whole.run(); }), "out", name);
    Whole observed;
    observed.see.lse = writable(input(observed.problem)) + 1;
    expect_named(refusal([&] { observed.run(); }), "lse", name);
  }
  Whole whole;
  whole.out.data = whole.flags.data();
  expect_named(refusal([&] { whole.run(); }), "out", "mask");
  whole.problem.mask = {};
  whole.out.data = whole.flags.data() + 16;
  expect_named(refusal([&] { whole.run(); }), "out", "keep");
}

// Rows of 4 numbers that are nearer than 4, and heads that begin within a row; either way round.
TEST(MemoryUse, RefusesAnOutputWhoseElementsShareMemory) {
  for (const std::array<std::int64_t, 4>& strides : std::vector<std::array<std::int64_t, 4>>{
           {0, 12, 3, 1}, {0, 12, -3, 1}, {0, 2, 4, 1}, {0, 4, 1, 1}, {0, 12, 4, 0}, {0, 0, 4, 1}}) {
    Whole whole;
    whole.out.data = whole.numbers.data() + whole.numbers.size() - 500;
    whole.out.strides = strides;
    EXPECT_NE(refusal([&] { whole.run(); }).find("out has strides at which its elements would share memory"),
              std::string::npos);
  }
  for (const std::array<std::int64_t, 4>& strides :
       std::vector<std::array<std::int64_t, 4>>{{0, 12, 4, 1}, {0, 4, 8, 1}, {0, -12, -4, 1}, {5, 1, 8, 2}}) {
    Whole whole;
    whole.out.data = whole.numbers.data() + whole.numbers.size() - 500;
    whole.out.strides = strides;
    EXPECT_EQ(refusal([&] { whole.run(); }), "accepted");
  }
}

// Queries, keys, values and output as parts of each row of one buffer.
TEST(MemoryUse, AcceptsPartsOfOneBuffer) {
  constexpr std::int64_t n = 7, heads = 2, width = 4, row = 4 * heads * width;
  std::vector<float> buffer(n * row, 1.0f);
  const auto part = [&](int which) {
    return MutableTensorView{
        buffer.data() + which * heads * width, DType::f32, {1, heads, n, width}, {0, width, row, 1}};
  };
  AttentionProblem problem;
  problem.q = part(0), problem.k = part(1), problem.v = part(2);
  EXPECT_EQ(refusal([&] { attention(problem, part(3), {}, {.threads = 1}); }), "accepted");
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(buffer[i * row + 3 * heads * width], 1.0f);
  MutableTensorView shifted = part(3);
  shifted.data = static_cast<float*>(shifted.data) - 1;
  expect_named(refusal([&] { attention(problem, shifted, {}, {.threads = 1}); }), "out", "v");
}

TEST(MemoryUse, RefusesATileThatOverlapsWhatItIsMadeOf) {
  Whole whole;
  auto* keys = static_cast<float*>(const_cast<void*>(whole.problem.k.data));
  expect_named(refusal([&] { tile(whole.problem, {}, {0, 0, 0, 1, 0, 2}, Stage::raw, keys); }), "out", "k");
  const RowState state{whole.see.row_max, whole.see.row_sum};
  expect_named(refusal([&] {
                 tile(whole.problem, state, {0, 0, 0, 1, 0, 2}, Stage::weights, whole.see.row_sum + 5);
               }),
               "out", "row_sum");
}

TEST(MemoryUse, RefusesGradientsThatOverlap) {
  Whole whole;
  whole.run();
  const ForwardResult forward{whole.out, whole.see.row_max, whole.see.row_sum};
  const Shape rows = whole.out.shape;
  const TensorView dout = dense_view(whole.take(), rows);
  const auto run = [&](const Gradients& gradients) {
    return refusal([&] { attention_backward(whole.problem, forward, dout, gradients, {.threads = 1}); });
  };
  Gradients apart;
  apart.q = dense_view(whole.take(), rows);
  apart.k = dense_view(whole.take(), whole.problem.k.shape);
  apart.sinks = whole.take();
  EXPECT_EQ(run(apart), "accepted");
  Gradients gradients = apart;
  gradients.k.data = gradients.q.data;
  expect_named(run(gradients), "the gradient of k", "the gradient of q");
  gradients = apart;
  gradients.q.data = const_cast<void*>(dout.data);
  expect_named(run(gradients), "the gradient of q", "dout");
  gradients = apart;
  gradients.q.data = whole.out.data;
  expect_named(run(gradients), "the gradient of q", "the output of the forward pass");
  gradients = apart;
  gradients.sinks = whole.see.row_max;
  expect_named(run(gradients), "the gradient of sinks", "row_max");
  gradients.sinks = const_cast<float*>(whole.problem.sinks.data());
  expect_named(run(gradients), "the gradient of sinks", "sinks");
}

TEST(MemoryUse, RefusesGradientsAndMergedOutputsWhoseElementsShareMemory) {
  Whole whole;
  whole.run();
  const ForwardResult forward{whole.out, whole.see.row_max, whole.see.row_sum};
  const TensorView dout = dense_view(whole.take(), whole.out.shape);
  const TensorView part = dense_view(whole.take(), whole.out.shape);
  std::vector<float> lse(64, 0.0f), room(500);
  for (const Shape& strides : std::vector<Shape>{{0, 12, 3, 1}, {0, 2, 4, 1}, {0, 0, 4, 1}, {0, 4, 1, 1}}) {
    const MutableTensorView to{room.data() + 200, DType::f32, whole.out.shape, strides};
    Gradients gradients;
    gradients.q = to;
    EXPECT_NE(refusal([&] {
                attention_backward(whole.problem, forward, dout, gradients, {.threads = 1});
              }).find("the gradient of q has strides at which its elements would share memory"),
              std::string::npos);
    EXPECT_NE(refusal([&] {
                merge_outputs({part, lse.data()}, {part, lse.data()}, to, nullptr);
              }).find("out has strides at which its elements would share memory"),
              std::string::npos);
  }
}

// What is refused has two elements in one place.
TEST(MemoryUse, RefusesOnlyWhatSharesMemoryWithin) {
  Draw draw(7);
  int shared = 0;
  for (int i = 0; i < 5000; ++i) {
    MutableTensorView tensor{nullptr, DType::f32, {}, {}};
    std::set<std::int64_t> places;
    for (auto& size : tensor.shape) size = draw.number(0, 4);
    for (auto& stride : tensor.strides) stride = draw.number(-20, 20);
    const Shape& n = tensor.shape;
    for (std::int64_t at = 0; at < n[0] * n[1] * n[2] * n[3]; ++at) {
      const Shape index = {at / (n[1] * n[2] * n[3]), at / (n[2] * n[3]) % n[1], at / n[3] % n[2], at % n[3]};
      std::int64_t place = 0;
      for (int axis = 0; axis < 4; ++axis) place += index[axis] * tensor.strides[axis];
      places.insert(place);
    }
    if (!shares_memory_within(tensor)) continue;
    ++shared;
    EXPECT_LT(static_cast<std::int64_t>(places.size()), n[0] * n[1] * n[2] * n[3]);
  }
  EXPECT_GT(shared, 500);
}

}  // namespace
}  // namespace sightline
