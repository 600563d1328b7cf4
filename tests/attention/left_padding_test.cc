// A batch padded on the left, its positions counted from each sequence's first token: every row has the bits that it
// has alone.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/attention/observed.h"

namespace sightline::testing {
namespace {

constexpr std::int64_t kHeads = 2, kLength = 150, kWidth = 12;
constexpr std::int64_t kPads[] = {0, 1, 63, 64, 100};
constexpr std::int64_t kBatch = 5;

// Tokens of padding are NaN.
Strided<float> padded(std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  Strided<float> tensor(DType::f32, {kBatch, kHeads, kLength, kWidth}, Layout::dense, 0);
  tensor.fill([&](float& x) { x = normal(random); });
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t n = 0; n < kPads[b]; ++n) tensor.at(b, h, n, 0) = NAN;
    }
  }
  return tensor;
}

// Sequence b of the batch without its padding.
TensorView alone(TensorView view, std::int64_t b) {
  view.data = static_cast<const float*>(view.data) + b * view.strides[0] + kPads[b] * view.strides[2];
  view.shape[0] = 1;
  view.shape[2] = kLength - kPads[b];
  return view;
}

struct Rows {
  std::vector<float> out, lse;
  explicit Rows(const AttentionProblem& p)
      : out(p.q.shape[0] * kHeads * p.q.shape[2] * kWidth), lse(out.size() / kWidth) {
    Observations see;
    see.lse = lse.data();
    attention(p, dense_view(out.data(), {p.q.shape[0], kHeads, p.q.shape[2], kWidth}), see, {2});
  }
};

TEST(AttentionLeftPadding, RowsHaveTheBitsThatTheyHaveAlone) {
  std::mt19937_64 random(5);
  const Strided<float> q = padded(random), k = padded(random), v = padded(random);
  std::vector<SequenceSpan> spans;
  for (const std::int64_t pad : kPads) spans.push_back({-1, -pad, {}});
  const std::vector<float> slopes{0.25f, 0.5f};
  AttentionProblem batch;
  batch.q = q.view();
  batch.k = k.view();
  batch.v = v.view();
  batch.causal = true;
  batch.alibi_slopes = slopes;
  batch.window_left = 70;
  batch.sequences = spans;
  const Rows together(batch);
  for (std::int64_t b = 0; b < kBatch; ++b) {
    AttentionProblem one = batch;
    one.q = alone(batch.q, b);
    one.k = alone(batch.k, b);
    one.v = alone(batch.v, b);
    one.sequences = {};
    const Rows by_itself(one);
    const std::int64_t length = kLength - kPads[b];
    for (std::int64_t i = 0; i < kHeads * length; ++i) {
      const std::int64_t row = (b * kHeads + i / length) * kLength + kPads[b] + i % length;
      ASSERT_TRUE(same_bits(together.lse[row], by_itself.lse[i])) << "sequence " << b << ", row " << i;
      for (std::int64_t d = 0; d < kWidth; ++d)
        ASSERT_TRUE(same_bits(together.out[row * kWidth + d], by_itself.out[i * kWidth + d])) << b << ", row " << i;
    }
  }
}

}  // namespace
}  // namespace sightline::testing
