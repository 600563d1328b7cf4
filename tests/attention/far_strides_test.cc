// Tensors whose elements lie more than 2^31 elements apart, in memory that is only mapped: an index that is
// cut to 32 bits anywhere reads or writes elsewhere.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "sightline/attention.h"
#include "tests/attention/strided.h"

namespace sightline::testing {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 31;

// Address space that takes memory where it is touched.
class Sparse {
 public:
  explicit Sparse(std::int64_t bytes) : size_(static_cast<std::size_t>(bytes)) {
    void* data = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
  }
  ~Sparse() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  Sparse(const Sparse&) = delete;
  std::byte* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::size_t size_;
  std::byte* data_ = nullptr;
};

// Every axis has a stride beyond 2^31, or below -2^31, but for rows that are read and written in place.
enum class Far { forwards, backwards, rows };

Shape4 far_strides(Far far) {
  if (far == Far::rows) return {kFar + 1, kFar + 7, kFar + 50, 1};
  const std::int64_t sign = far == Far::backwards ? -1 : 1;
  return {sign * (kFar + 1), sign * (kFar + 7), kFar + 50, sign * (kFar + 400)};
}

std::int64_t offset_of(const Shape4& strides, const Shape4& index) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < 4; ++axis) offset += strides[axis] * index[axis];
  return offset;
}

template <class Visit>
void for_each_index(const Shape4& shape, const Visit& visit) {
  Shape4 i{};
  for (i[0] = 0; i[0] < shape[0]; ++i[0])
    for (i[1] = 0; i[1] < shape[1]; ++i[1])
      for (i[2] = 0; i[2] < shape[2]; ++i[2])
        for (i[3] = 0; i[3] < shape[3]; ++i[3]) visit(i);
}

// A copy of a dense tensor with far strides.
class FarCopy {
 public:
  FarCopy(const TensorView& dense, Far far)
      : view_(dense), memory_(span_of(dense.shape, far) * static_cast<std::int64_t>(dtype_size(dense.dtype))) {
    if (!memory_) return;
    const auto size = static_cast<std::int64_t>(dtype_size(dense.dtype));
    view_.strides = far_strides(far);
    std::int64_t origin = 0;  // element 0 comes after those that are reached backwards
    for (int axis = 0; axis < 4; ++axis)
      origin += std::max<std::int64_t>(0, -view_.strides[axis]) * (dense.shape[axis] - 1);
    view_.data = memory_.data() + origin * size;
    for_each_index(dense.shape, [&](const Shape4& i) {
      std::memcpy(const_cast<void*>(at(i)),
                  static_cast<const std::byte*>(dense.data) + offset_of(dense.strides, i) * size,
                  static_cast<std::size_t>(size));
    });
  }

  explicit operator bool() const { return static_cast<bool>(memory_); }
  const TensorView& view() const { return view_; }
  const void* at(const Shape4& i) const {
    return static_cast<const std::byte*>(view_.data) +
           offset_of(view_.strides, i) * static_cast<std::int64_t>(dtype_size(view_.dtype));
  }

 private:
  static std::int64_t span_of(const Shape4& shape, Far far) {
    std::int64_t elements = 1;
    for (int axis = 0; axis < 4; ++axis) elements += std::abs(far_strides(far)[axis]) * (shape[axis] - 1);
    return elements;
  }

  TensorView view_;
  Sparse memory_;
};

class FarStrides : public ::testing::TestWithParam<Far> {
 protected:
  static constexpr Shape4 kQueries = {2, 2, 2, 3}, kKeys = {2, 1, 3, 3}, kMap = {2, 2, 2, 3};

  FarStrides() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (auto* values : {&q_, &k_, &v_, &bias_}) {
      for (float& x : *values) x = normal(random);
    }
    for (auto* bytes : {&mask_, &keep_}) {
      for (auto& bit : *bytes) bit = random() % 4 != 0;
    }
    problem_.q = dense_view(q_.data(), kQueries);
    problem_.k = dense_view(k_.data(), kKeys);
    problem_.v = dense_view(v_.data(), kKeys);
    problem_.bias = dense_view(bias_.data(), kMap);
    problem_.mask = flags(mask_);
    problem_.keep = flags(keep_);
  }

  static TensorView flags(const std::vector<std::uint8_t>& bytes) {
    TensorView view = dense_view(static_cast<const float*>(nullptr), kMap);
    view.data = bytes.data();
    view.dtype = DType::boolean;
    return view;
  }

  std::vector<float> run(const AttentionProblem& problem) const {
    std::vector<float> out(q_.size(), 7);
    attention(problem, dense_view(out.data(), kQueries), {}, {.threads = 2});
    return out;
  }

  std::vector<float> q_ = std::vector<float>(24), k_ = std::vector<float>(18), v_ = k_, bias_ = q_;
  std::vector<std::uint8_t> mask_ = std::vector<std::uint8_t>(24), keep_ = mask_;
  AttentionProblem problem_;
};

TEST_P(FarStrides, OfEachTensor) {
  const std::vector<float> expected = run(problem_);
  for (TensorView AttentionProblem::*tensor :
       {&AttentionProblem::q, &AttentionProblem::k, &AttentionProblem::v, &AttentionProblem::mask,
        &AttentionProblem::bias, &AttentionProblem::keep}) {
    const FarCopy copy(problem_.*tensor, GetParam());
    if (!copy) GTEST_SKIP() << "this system does not map 64 GiB without memory for them";
    AttentionProblem far = problem_;
    far.*tensor = copy.view();
    EXPECT_EQ(run(far), expected);
  }
}

TEST_P(FarStrides, OfTheOutput) {
  const std::vector<float> expected = run(problem_);
  const FarCopy out(problem_.q, GetParam());
  if (!out) GTEST_SKIP() << "this system does not map 64 GiB without memory for them";
  attention(problem_, {const_cast<void*>(out.view().data), DType::f32, kQueries, out.view().strides});
  std::size_t n = 0;
  for_each_index(kQueries, [&](const Shape4& i) { EXPECT_EQ(*static_cast<const float*>(out.at(i)), expected[n++]); });
}

INSTANTIATE_TEST_SUITE_P(Directions, FarStrides, ::testing::Values(Far::forwards, Far::backwards, Far::rows),
                         [](const auto& info) {
                           return info.param == Far::rows        ? "Rows"
                                  : info.param == Far::backwards ? "Backwards"
                                                                 : "Forwards";
                         });

// Pages of a pool that lie as far apart, one key in each.
TEST(FarPages, AreFound) {
  constexpr std::int64_t kPages = 3, kWidth = 4;
  constexpr std::int64_t kStride = kFar + 64;
  const Sparse memory(2 * kPages * kStride * 4);
  if (!memory) GTEST_SKIP() << "this system does not map 51 GiB without memory for them";
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> q(kWidth), k(kPages * kWidth), v(kPages * kWidth), expected(kWidth), out(kWidth);
  for (auto* values : {&q, &k, &v}) {
    for (float& x : *values) x = normal(random);
  }
  auto* pool = reinterpret_cast<float*>(memory.data());
  const std::vector<std::int32_t> table = {2, 0, 1};
  for (std::int64_t j = 0; j < kPages; ++j) {
    std::copy_n(&k[j * kWidth], kWidth, pool + table[j] * kStride);
    std::copy_n(&v[j * kWidth], kWidth, pool + (kPages + table[j]) * kStride);
  }
  AttentionProblem problem;
  problem.q = dense_view(q.data(), {1, 1, 1, kWidth});
  problem.k = dense_view(k.data(), {1, 1, kPages, kWidth});
  problem.v = dense_view(v.data(), {1, 1, kPages, kWidth});
  attention(problem, dense_view(expected.data(), {1, 1, 1, kWidth}));
  problem.k.data = pool;
  problem.v.data = pool + kPages * kStride;
  problem.pages = {table.data(), kPages, 1, kPages, kStride, kStride};
  attention(problem, dense_view(out.data(), {1, 1, 1, kWidth}));
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace sightline::testing
