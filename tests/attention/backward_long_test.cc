// Long sequences: several chunks of keys, the same bits on any number of threads, and no memory of the map's size.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/attention/reference_backward.h"
#include "tests/attention/backward_run.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

// Two query heads on one key/value head, causal.
struct LongProblem {
  LongProblem(std::int64_t rows, std::int64_t keys, std::int64_t width)
      : numbers(static_cast<std::size_t>((4 * rows + 2 * keys) * width)) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (float& x : numbers) x = normal(random);
    const float* at = std::as_const(numbers).data();
    const auto next = [&](const Shape4& shape) {
      return dense_view(std::exchange(at, at + shape[1] * shape[2] * shape[3]), shape);
    };
    problem.q = next({1, 2, rows, width});
    problem.k = next({1, 1, keys, width});
    problem.v = next({1, 1, keys, width});
    problem.causal = true;
    dout = next({1, 2, rows, width});
  }

  std::vector<float> numbers;
  AttentionProblem problem;
  TensorView dout;
};

double dot(const TensorView& a, const Strided<float>& b) {
  const auto* numbers = static_cast<const float*>(a.data);
  const auto [batch, heads, rows, width] = a.shape;
  double sum = 0;
  for (std::int64_t i = 0; i < heads * rows * width; ++i) {
    sum += static_cast<double>(numbers[i]) * b.at(0, i / width / rows, i / width % rows, i % width);
  }
  return sum;
}

double column_sum(const TensorView& tensor, std::int64_t column) {
  const auto* numbers = static_cast<const float*>(tensor.data);
  const std::int64_t width = tensor.shape[3];
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.shape[1] * tensor.shape[2]; ++i) sum += numbers[i * width + column];
  return sum;
}

// What holds of any gradients: scores depend on q and k only through q . k, and weights sum to 1.
void expect_identities(const LongProblem& given, const BackwardRun& run) {
  const double through_q = dot(given.problem.q, run.dq), through_k = dot(given.problem.k, run.dk);
  EXPECT_NEAR(through_q, through_k, 1e-4 * (1 + std::abs(through_q)));
  EXPECT_GT(std::abs(through_q), 1);
  for (std::int64_t d = 0; d < given.problem.v.shape[3]; ++d) {
    double sum = 0;
    for (std::int64_t j = 0; j < given.problem.v.shape[2]; ++j) sum += run.dv.at(0, 0, j, d);
    EXPECT_NEAR(sum, column_sum(given.dout, d), 2e-3) << "column " << d;
  }
}

TEST(BackwardLong, ChunksFoldAlikeOnAnyNumberOfThreads) {
  LongProblem given(100, 14000, 8);
  const std::vector<SequenceSpan> sequence = {{-1, 700, {}}};  // chunks do not begin with the tensor
  given.problem.sequences = sequence;
  std::vector<float> bias(14000, 0.5f);
  given.problem.bias = dense_view(bias.data(), {1, 1, 1, 14000});
  const BackwardRun one(given.problem, given.dout, {}, 1);
  for (const int threads : {2, 4, 7}) {
    EXPECT_EQ(BackwardRun(given.problem, given.dout, {}, threads).difference(one), "");
  }
  const auto expected = reference::gradients(given.problem, given.dout);
  for (std::int64_t i = 0; i < 2 * 100 * 8; ++i) {
    EXPECT_NEAR(one.dq.at(0, i / 800, i / 8 % 100, i % 8), expected.q[i], 2e-6) << "dq[" << i << "]";
  }
  for (std::int64_t j = 0; j < 14000; ++j) {
    ASSERT_NEAR(one.dbias.at(0, 0, 0, j), expected.bias[j], 2e-6) << "dbias[" << j << "]";
    ASSERT_NEAR(one.dk.at(0, 0, j, 3), expected.k[j * 8 + 3], 2e-6) << "dk of key " << j;
    ASSERT_NEAR(one.dv.at(0, 0, j, 3), expected.v[j * 8 + 3], 2e-6) << "dv of key " << j;
  }
}

// A line of /proc/self/status, in bytes: "VmRSS:" is resident now, "VmHWM:" the most so far or since a reset.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  }
  return -1;
}

// The map of 16,384 x 16,384 slopes would take 1 GiB a head.
TEST(BackwardLong, NoMemoryOfTheMapsSize) {
  if (is_reduced()) GTEST_SKIP() << "takes 10^10 operations; runs where SIGHTLINE_TEST_CASES is not reduced";
  constexpr std::int64_t kLength = 16384, kWidth = 16, kMostExtraBytes = std::int64_t{64} << 20;
  const LongProblem given(kLength, kLength, kWidth);
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
  const std::int64_t before = status_bytes("VmRSS:"), old_peak = status_bytes("VmHWM:");
  if (before < 0 || old_peak < 0) GTEST_SKIP() << "this system does not tell a process its peak memory";
  if (old_peak - before > kMostExtraBytes / 16) GTEST_SKIP() << "the peak of earlier work cannot be reset here";
  const BackwardRun run(given.problem, given.dout, {}, 2);
  const std::int64_t extra = status_bytes("VmHWM:") - before;
  EXPECT_LT(extra, kMostExtraBytes);
  EXPECT_GT(extra, kLength * kWidth * 4) << "one gradient alone takes more: this is no measurement";
  expect_identities(given, run);
}

}  // namespace
}  // namespace sightline::testing
