#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "src/cpu/target.h"
#include "src/ops/elementwise.h"

namespace sightline::ops {
namespace {

constexpr float kLimit = 1.25f, kAlpha = 1.702f;

struct Gate {
  const char* name;
  void (*run)(const GatedRows&, float*, int);
  double (*exact)(double gate, double up);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double inner_tanh(double x) { return std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)); }

void run_swiglu(const GatedRows& in, float* y, int threads) { swiglu_gate(in, kLimit, kAlpha, y, threads); }
double exact_swiglu(double gate, double up) {
  const double g = std::min<double>(gate, kLimit), u = std::clamp<double>(up, -kLimit, kLimit);
  return (u + 1) * g * sigmoid(kAlpha * g);
}

const Gate kGates[] = {
    {"gelu", gelu_gate, [](double g, double u) { return u * 0.5 * g * std::erfc(-g * M_SQRT1_2); }},
    {"gelu_tanh", gelu_tanh_gate, [](double g, double u) { return u * 0.5 * g * (1 + inner_tanh(g)); }},
    {"silu", silu_gate, [](double g, double u) { return u * g * sigmoid(g); }},
    {"relu", relu_gate, [](double g, double u) { return u * std::max(g, 0.0); }},
    {"swiglu", run_swiglu, exact_swiglu},
};

// gate and up of some rows in one of the three layouts.
struct Input {
  Input(std::int64_t rows, std::int64_t width, int layout) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 2);
    values.resize(2 * rows * width);
    for (float& v : values) v = normal(random);
    const float* data = values.data();
    if (layout == 0) in = {data, data + rows * width, rows, width, width, 1};
    if (layout == 1) in = {data, data + width, rows, width, 2 * width, 1};
    if (layout == 2) in = {data, data + 1, rows, width, 2 * width, 2};
  }
  Input(const Input&) = delete;

  std::vector<float> values;
  GatedRows in;
};

TEST(Gate, AgreesWithFp64InEveryLayout) {
  for (const Gate& gate : kGates) {
    for (int layout = 0; layout < 3; ++layout) {
      const Input input(41, 333, layout);
      const GatedRows& in = input.in;
      std::vector<float> y(in.rows * in.width);
      gate.run(in, y.data(), 2);
      for (std::int64_t i = 0; i < in.rows * in.width; ++i) {
        const std::int64_t at = i / in.width * in.row_stride + i % in.width * in.step;
        const double want = gate.exact(in.gate[at], in.up[at]);
        ASSERT_NEAR(want, y[i], 1e-6 * std::abs(want) + 1e-6) << gate.name << " layout " << layout << " at " << i;
      }
    }
  }
}

TEST(Gate, GivesTheSameBitsOnEveryTargetAtEveryPlaceAndInPlace) {
  for (const Gate& gate : kGates) {
    for (int layout = 0; layout < 3; ++layout) {
      Input input(41, 333, layout);
      const GatedRows& in = input.in;
      std::vector<float> y(in.rows * in.width), other(y.size());
      const std::size_t bytes = y.size() * sizeof(float);
      gate.run(in, y.data(), 1);
      for (const std::string& target : cpu::available_targets()) {
        cpu::force_target(target);
        gate.run(in, other.data(), 2);
        EXPECT_EQ(0, std::memcmp(y.data(), other.data(), bytes)) << gate.name << " on " << target;
      }
      cpu::force_target("");
      for (std::int64_t i = 0; i < in.width; i += 37) {
        float alone;
        gate.run({in.gate + i * in.step, in.up + i * in.step, 1, 1, in.row_stride, in.step}, &alone, 1);
        EXPECT_EQ(0, std::memcmp(&alone, &y[i], sizeof alone)) << gate.name << " at " << i;
      }
      if (layout != 0) continue;
      gate.run(in, input.values.data(), 2);
      EXPECT_EQ(0, std::memcmp(y.data(), input.values.data(), bytes)) << gate.name << " in place";
    }
  }
}

TEST(Gate, SwigluCutsBothSides) {
  const std::vector<float> gate = {100, -100, 100, 0.5f, NAN, 1}, up = {100, 1, -100, -1, 1, NAN};
  std::vector<float> y(gate.size());
  run_swiglu({gate.data(), up.data(), 1, 6, 6, 1}, y.data(), 1);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(exact_swiglu(gate[i], up[i]), y[i], 1e-6) << i;
  EXPECT_TRUE(std::isnan(y[4]) && std::isnan(y[5]));
}

}  // namespace
}  // namespace sightline::ops
