// The map of 131,072 x 131,072 weights would take 64 GiB; the pass must not need more than O(n d) beside its inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "src/attention/reference.h"
#include "tests/attention/observed.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

constexpr std::int64_t kLength = 131072, kWidth = 64;
constexpr std::int64_t kMostExtraBytes = std::int64_t{256} << 20;

// A line of /proc/self/status, in bytes: "VmRSS:" is resident now, "VmHWM:" the most so far or since reset_peak().
std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  }
  return -1;
}

// Not every system lets a process do this; then a peak of earlier work stays.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5" << std::flush; }

ObservationRecipe everything() {
  ObservationRecipe all;
  all.top_k = 4;
  all.offsets = {-1, 0, 1};
  all.segments = 4;
  all.segment_of_key.resize(kLength);
  for (std::int64_t j = 0; j < kLength; ++j) all.segment_of_key[j] = static_cast<std::int32_t>(j * 4 / kLength);
  all.overview_rows = all.overview_cols = 64;
  all.rows = {0, 70000, kLength - 1};
  return all;
}

// A row against fp64, through a problem of that row alone.
void check_row(const AttentionProblem& whole, const Observed& got, std::int64_t row) {
  AttentionProblem alone = whole;
  alone.q.data = static_cast<const float*>(whole.q.data) + row * kWidth;
  alone.q.shape[2] = 1;
  const SequenceSpan span{-1, 0, row};
  alone.sequences = {&span, 1};
  const auto expected = reference::attention(alone);
  EXPECT_NEAR(got.lse[row], expected.lse[0], 2e-5) << "row " << row;
  EXPECT_NEAR(got.entropy[row], expected.entropy[0], 2e-4) << "row " << row;
  EXPECT_NEAR(got.position[row], expected.position[0], 1e-4 * (1 + static_cast<double>(row))) << "row " << row;
  for (std::int64_t d = 0; d < kWidth; ++d)
    EXPECT_NEAR(got.out.at(0, 0, row, d), expected.out[d], 1e-5) << "row " << row;
}

TEST(AttentionMemory, LongSequenceWithAllObservations) {
  if (is_reduced()) GTEST_SKIP() << "takes 10^12 operations; runs where SIGHTLINE_TEST_CASES is not reduced";
  std::vector<float> inputs(3 * kLength * kWidth);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& x : inputs) x = normal(random);
  AttentionProblem problem;
  const auto operand = [&](std::int64_t n) {
    return dense_view(inputs.data() + n * kLength * kWidth, {1, 1, kLength, kWidth});
  };
  problem.q = operand(0);
  problem.k = operand(1);
  problem.v = operand(2);
  problem.causal = true;

  reset_peak();
  const std::int64_t before = status_bytes("VmRSS:"), old_peak = status_bytes("VmHWM:");
  if (before < 0 || old_peak < 0) GTEST_SKIP() << "this system does not tell a process its peak memory";
  if (old_peak - before > kMostExtraBytes / 16) GTEST_SKIP() << "the peak of earlier work cannot be reset here";
  const Observed got(problem, everything(), {DType::f32, {1, 1, kLength, kWidth}, Layout::dense, 0}, 2);
  const std::int64_t extra = status_bytes("VmHWM:") - before;
  EXPECT_LT(extra, kMostExtraBytes);
  EXPECT_GT(extra, kLength * kWidth * 4) << "the output alone takes more: this is no measurement";
  RecordProperty("extra_bytes", std::to_string(extra));

  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{70000}, kLength - 1}) check_row(problem, got, row);
  const double mass = std::accumulate(got.key_mass.begin(), got.key_mass.end(), 0.0);
  EXPECT_NEAR(mass, kLength, 1e-4 * kLength);
}

}  // namespace
}  // namespace sightline::testing
