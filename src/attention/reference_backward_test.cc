// The chain rule of the reference against central differences of the reference's own forward pass, all in fp64.
#include "src/attention/reference_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "src/attention/reference.h"

namespace sightline::reference {
namespace {

using Shape = std::array<std::int64_t, 4>;

struct Tensor {
  Tensor(const Shape& shape, std::mt19937_64& random) : shape(shape) {
    std::normal_distribution<double> normal;
    values.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
    for (double& value : values) value = normal(random);
  }
  TensorView view() const { return {values.data(), DType::f64, shape, dense_strides(shape)}; }

  Shape shape;
  std::vector<double> values;
};

// Numbers of the interface that are fp32: multiples of 1/64, so that steps of 1/64 are exact.
std::vector<float> coarse(std::size_t count, std::mt19937_64& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 129) - 64) / 64;
  return values;
}

class Differences {
 public:
  Differences() {
    problem.q = q.view();
    problem.k = k.view();
    problem.v = v.view();
    problem.scale = 0.75f;
  }

  double loss() const {
    const std::vector<double> out = attention(problem).out;
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * dout.values[i];
    return sum;
  }

  // Central differences of two steps, whose errors of second order cancel.
  template <class T>
  void expect_gradient(const char* name, std::vector<T>& operand, const std::vector<double>& gradient, double step) {
    ASSERT_EQ(operand.size(), gradient.size()) << name;
    for (std::size_t i = 0; i < operand.size(); ++i) {
      const T value = operand[i];
      const auto slope = [&](double h) {
        operand[i] = static_cast<T>(value + h);
        const double above = loss();
        operand[i] = static_cast<T>(value - h);
        const double below = loss();
        operand[i] = value;
        return (above - below) / (2 * h);
      };
      const double expected = (4 * slope(step) - slope(2 * step)) / 3;
      EXPECT_NEAR(gradient[i], expected, 2e-6 * (1 + std::abs(expected))) << name << "[" << i << "]";
    }
  }

  void expect_all() {
    const GradientResult got = gradients(problem, dout.view());
    expect_gradient("q", q.values, got.q, 1e-4);
    expect_gradient("k", k.values, got.k, 1e-4);
    expect_gradient("v", v.values, got.v, 1e-4);
    if (problem.bias) expect_gradient("bias", bias.values, got.bias, 1e-4);
    expect_gradient("sinks", sinks, got.sinks, 1.0 / 64);
    expect_gradient("alibi_slopes", slopes, got.alibi_slopes, 1.0 / 64);
    expect_gradient("relative_bias", table, got.relative_bias, 1.0 / 64);
  }

  std::mt19937_64 random{7};
  Tensor q{{2, 4, 5, 3}, random}, k{{2, 2, 7, 3}, random}, v{{2, 2, 7, 2}, random}, dout{{2, 4, 5, 2}, random};
  Tensor bias{{2, 1, 5, 7}, random};
  std::vector<float> sinks, slopes, table;
  AttentionProblem problem;
};

TEST(ReferenceBackward, PlainAttention) { Differences().expect_all(); }

TEST(ReferenceBackward, CausalWindowWithRowsThatSeeNothing) {
  Differences d;
  d.problem.causal = true;
  d.problem.window_left = 2;
  const std::vector<SequenceSpan> sequences = {{6, 0, -2}, {7, 3, {}}};
  d.problem.sequences = sequences;
  d.expect_all();
}

TEST(ReferenceBackward, SoftcapBiasesAndSinks) {
  Differences d;
  d.problem.softcap = 1.5f;
  d.bias.values[3] = -INFINITY;
  d.problem.bias = d.bias.view();
  d.sinks = coarse(4, d.random);
  d.slopes = coarse(4, d.random);
  d.table = coarse(4 * 4, d.random);
  d.problem.sinks = d.sinks;
  d.problem.alibi_slopes = d.slopes;
  d.problem.relative_bias = {d.table, 4, 5, true};
  const GradientResult got = gradients(d.problem, d.dout.view());
  EXPECT_EQ(got.bias[3], 0);
  d.bias.values[3] = 0.5;  // a step from -inf leads nowhere
  d.expect_all();
}

TEST(ReferenceBackward, DropoutAndHeadScale) {
  Differences d;
  std::vector<std::uint8_t> keep(5 * 7);
  for (auto& bit : keep) bit = d.random() % 3 != 0;
  d.problem.keep = {keep.data(), DType::boolean, {1, 1, 5, 7}, dense_strides({1, 1, 5, 7})};
  d.problem.keep_scale = 1.5f;
  const std::vector<float> head_scale = {1, 0, -0.5f, 2};
  d.problem.head_scale = head_scale;
  d.expect_all();
}

TEST(ReferenceBackward, PackedSequences) {
  Differences d;
  d.q = Tensor({1, 4, 5, 3}, d.random);
  d.k = Tensor({1, 2, 7, 3}, d.random);
  d.v = Tensor({1, 2, 7, 2}, d.random);
  d.dout = Tensor({1, 4, 5, 2}, d.random);
  d.problem.q = d.q.view();
  d.problem.k = d.k.view();
  d.problem.v = d.v.view();
  d.problem.causal = true;
  const std::vector<std::int32_t> queries = {0, 2, 2, 5}, keys = {0, 3, 4, 7};
  d.problem.cu_seqlens_q = queries;
  d.problem.cu_seqlens_k = keys;
  d.expect_all();
}

}  // namespace
}  // namespace sightline::reference
