// Operands whose rows, pages, mask and bias lie more than 2^31 elements apart, in address space without memory behind
// it, give the bits that they give when they lie side by side.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>
#include <vector>

#include "tests/attention/observed.h"

namespace sightline::testing {
namespace {

constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 64;  // elements
constexpr std::int64_t kQueries = 3, kKeys = 4, kWidth = 5;
constexpr std::int64_t kPageSize = 16;

class Reservation {
 public:
  explicit Reservation(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reservation() {
    if (*this) munmap(data_, bytes_);
  }
  Reservation(const Reservation&) = delete;
  explicit operator bool() const { return data_ != MAP_FAILED; }
  float* floats() { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

std::vector<float> numbers(std::int64_t count, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> all(count);
  for (float& x : all) x = normal(random);
  return all;
}

// Rows of `near`, [1, 1, rows, width], copied to where they are kFar apart.
TensorView spread(const std::vector<float>& near, std::int64_t rows, float* to) {
  const std::int64_t width = static_cast<std::int64_t>(near.size()) / rows;
  for (std::int64_t row = 0; row < rows; ++row) std::copy_n(near.data() + row * width, width, to + row * kFar);
  TensorView view = dense_view(static_cast<const float*>(to), {1, 1, rows, width});
  view.strides[2] = kFar;
  return view;
}

struct Inputs {
  std::vector<float> q, k, v, bias;

  Inputs() {
    std::mt19937_64 random(9);
    q = numbers(kQueries * kWidth, random);
    k = numbers(kKeys * kWidth, random);
    v = numbers(kKeys * kWidth, random);
    bias = numbers(kQueries * kKeys, random);
  }
  AttentionProblem near() const {
    AttentionProblem p;
    p.q = dense_view(q.data(), {1, 1, kQueries, kWidth});
    p.k = dense_view(k.data(), {1, 1, kKeys, kWidth});
    p.v = dense_view(v.data(), {1, 1, kKeys, kWidth});
    p.bias = dense_view(bias.data(), {1, 1, kQueries, kKeys});
    return p;
  }
};

std::vector<float> out_of(const AttentionProblem& p) {
  std::vector<float> out(kQueries * kWidth);
  attention(p, dense_view(out.data(), {1, 1, kQueries, kWidth}), {}, {1});
  return out;
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << i << ": " << a[i] << ", " << b[i];
}

TEST(AttentionFarStrides, RowsOfOperandsAndBias) {
  Reservation memory(kFar * (kKeys + 1) * sizeof(float));
  if (!memory) GTEST_SKIP() << "no address space for it here";
  const Inputs inputs;
  AttentionProblem p = inputs.near();
  p.q = spread(inputs.q, kQueries, memory.floats());
  p.k = spread(inputs.k, kKeys, memory.floats() + 100);
  p.v = spread(inputs.v, kKeys, memory.floats() + 200);
  p.bias = spread(inputs.bias, kQueries, memory.floats() + 300);
  expect_same_bits(out_of(p), out_of(inputs.near()));
}

TEST(AttentionFarStrides, PagesAndTheSlotsInThem) {
  Reservation memory(kFar * 3 * sizeof(float));
  if (!memory) GTEST_SKIP() << "no address space for it here";
  const Inputs inputs;
  AttentionProblem p = inputs.near();
  const std::int32_t table[] = {2};
  p.pages = {table, 1, kPageSize, 3, kFar, kFar};
  float* k = memory.floats() + 2 * kFar;
  float* v = k + 1000;
  std::copy(inputs.k.begin(), inputs.k.end(), k);
  std::copy(inputs.v.begin(), inputs.v.end(), v);
  p.k.data = memory.floats();
  p.v.data = memory.floats() + 1000;
  expect_same_bits(out_of(p), out_of(inputs.near()));
}

TEST(AttentionFarStrides, Output) {
  Reservation memory(kFar * (kQueries + 1) * sizeof(float));
  if (!memory) GTEST_SKIP() << "no address space for it here";
  const Inputs inputs;
  MutableTensorView out = dense_view(memory.floats(), {1, 1, kQueries, kWidth});
  out.strides[2] = kFar;
  attention(inputs.near(), out, {}, {1});
  const std::vector<float> near = out_of(inputs.near());
  for (std::int64_t i = 0; i < kQueries * kWidth; ++i)
    EXPECT_TRUE(same_bits(memory.floats()[i / kWidth * kFar + i % kWidth], near[i])) << i;
}

}  // namespace
}  // namespace sightline::testing
