#include "src/ops/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "src/cpu/target.h"

namespace sightline::ops {
namespace {

std::vector<float> normal_values(std::size_t count) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

using InPlace = void (*)(std::span<float>, int);

struct Function {
  const char* name;
  InPlace run;
  double (*exact)(double);
};

constexpr Function kFunctions[] = {
    {"gelu", gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
    {"gelu_tanh", gelu_tanh,
     [](double x) { return x / (1 + std::exp(-std::sqrt(8 / M_PI) * (x + 0.044715 * x * x * x))); }},
    {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }},
    {"relu", relu, [](double x) { return x < 0 ? 0 : x; }},
    {"tanh", tanh, [](double x) { return std::tanh(x); }},
    {"softcap", [](std::span<float> x, int threads) { softcap(x, 1.5f, threads); },
     [](double x) { return 1.5 * std::tanh(x / 1.5); }},
    {"scale", [](std::span<float> x, int threads) { scale(x, 25.25f, threads); }, [](double x) { return 25.25 * x; }},
};

// More than two blocks, and not a multiple of a vector.
constexpr std::size_t kCount = 20003;

TEST(Elementwise, ReachesEveryValue) {
  for (const Function& f : kFunctions) {
    const std::vector<float> x = normal_values(kCount);
    std::vector<float> y = x;
    f.run(y, 2);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double want = f.exact(x[i]);
      ASSERT_NEAR(want, y[i], 6e-7 * std::abs(want) + 1e-30) << f.name << " of " << x[i] << " at " << i;
    }
  }
}

TEST(Elementwise, GivesTheSameBitsOnEveryTargetAndAtEveryPlace) {
  for (const Function& f : kFunctions) {
    const std::vector<float> x = normal_values(kCount);
    std::vector<float> y = x;
    f.run(y, 1);
    for (const std::string& target : cpu::available_targets()) {
      cpu::force_target(target);
      std::vector<float> other = x;
      f.run(other, 2);
      EXPECT_EQ(0, std::memcmp(y.data(), other.data(), kCount * sizeof(float))) << f.name << " on " << target;
    }
    cpu::force_target("");
    for (std::size_t i = 0; i < kCount; i += 997) {
      float alone = x[i];
      f.run({&alone, 1}, 1);
      EXPECT_EQ(0, std::memcmp(&alone, &y[i], sizeof alone)) << f.name << " at " << i;
    }
  }
}

TEST(Elementwise, KeepsNan) {
  for (const Function& f : kFunctions) {
    std::vector<float> x = {1, NAN, 2};
    f.run(x, 1);
    EXPECT_TRUE(std::isfinite(x[0]) && std::isnan(x[1]) && std::isfinite(x[2])) << f.name;
  }
}

TEST(Elementwise, AddsTheResidual) {
  std::vector<float> x(kCount), y(kCount);
  for (std::size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i), y[i] = 0.5f;
  add(x, y, 2);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(static_cast<float>(i) + 0.5f, x[i]);
}

}  // namespace
}  // namespace sightline::ops
