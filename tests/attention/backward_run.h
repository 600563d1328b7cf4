#ifndef SIGHTLINE_TESTS_ATTENTION_BACKWARD_RUN_H_
#define SIGHTLINE_TESTS_ATTENTION_BACKWARD_RUN_H_

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sightline/backward.h"
#include "tests/attention/observed.h"
#include "tests/attention/random_problem.h"

namespace sightline::testing {

/// How the arrays of a backward pass lie.
struct BackwardLayouts {
  Layout dout = Layout::dense, q = Layout::dense, k = Layout::dense, v = Layout::dense, bias = Layout::dense;
};

/// Forward and backward pass of a problem, with every gradient that the problem has.
class BackwardRun {
 public:
  BackwardRun(const AttentionProblem& problem, const TensorView& dout, const BackwardLayouts& layouts, int threads)
      : problem_(problem) {
    const auto [batch, heads, queries, width] = problem.q.shape;
    out_ = output({batch, heads, queries, problem.v.shape[3]}, Layout::dense);
    row_max_.resize(batch * heads * queries);
    row_sum_.resize(row_max_.size());
    Observations see;
    see.row_max = row_max_.data();
    see.row_sum = row_sum_.data();
    attention(problem, out_.mutable_view(), see, {threads});
    dq = output(problem.q.shape, layouts.q);
    dk = output(problem.k.shape, layouts.k);
    dv = output(problem.v.shape, layouts.v);
    if (problem.bias) dbias = output(problem.bias.shape, layouts.bias);
    dsinks.assign(problem.sinks.size(), kMark);
    dslopes.assign(problem.alibi_slopes.size(), kMark);
    drelative.assign(problem.relative_bias.table.size(), kMark);
    attention_backward(problem, forward(), dout, gradients(), {threads});
  }

  ForwardResult forward() const { return {out_.view(), row_max_.data(), row_sum_.data()}; }
  Gradients gradients() {
    Gradients g;
    g.q = dq.mutable_view();
    g.k = dk.mutable_view();
    g.v = dv.mutable_view();
    if (problem_.bias) g.bias = dbias.mutable_view();
    if (!dsinks.empty()) g.sinks = dsinks.data();
    if (!dslopes.empty()) g.alibi_slopes = dslopes.data();
    if (!drelative.empty()) g.relative_bias = drelative.data();
    return g;
  }

  /// Every gradient in row-major order, by name.
  std::vector<std::pair<const char*, std::vector<float>>> arrays() const {
    return {{"dq", dense(dq)},  {"dk", dense(dk)},    {"dv", dense(dv)},       {"dbias", dense(dbias)},
            {"dsinks", dsinks}, {"dslopes", dslopes}, {"drelative", drelative}};
  }

  /// The first array whose bits differ, or empty. Any NaN equals any NaN.
  std::string difference(const BackwardRun& other) const {
    const auto mine = arrays(), theirs = other.arrays();
    for (std::size_t a = 0; a < mine.size(); ++a) {
      for (std::size_t i = 0; i < mine[a].second.size(); ++i) {
        if (!same_bits(mine[a].second[i], theirs[a].second[i])) {
          return mine[a].first + ("[" + std::to_string(i) + "] differs");
        }
      }
    }
    return {};
  }

  bool gaps_untouched() const {
    return dq.gaps_untouched() && dk.gaps_untouched() && dv.gaps_untouched() &&
           (!problem_.bias || dbias.gaps_untouched());
  }

  Strided<float> dq, dk, dv, dbias;
  std::vector<float> dsinks, dslopes, drelative;

 private:
  static constexpr float kMark = 7.5e8f;

  static Strided<float> output(const Shape4& shape, Layout layout) { return {DType::f32, shape, layout, kMark}; }

  static std::vector<float> dense(const Strided<float>& tensor) {
    std::vector<float> values;
    const auto [b, h, s, d] = tensor.shape();
    for (std::int64_t i = 0; i < b * h * s * d; ++i) {
      values.push_back(tensor.at(i / (h * s * d), i / (s * d) % h, i / d % s, i % d));
    }
    return values;
  }

  const AttentionProblem& problem_;
  Strided<float> out_;
  std::vector<float> row_max_, row_sum_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_BACKWARD_RUN_H_
