// The C interface against the C++ one: the same bits in every output.
#include "sightline/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sightline/sightline.h"
#include "sightline/version.h"

namespace sightline {
namespace {

using Floats = std::vector<float>;

std::vector<std::uint32_t> bits(const Floats& values) {
  std::vector<std::uint32_t> all;
  for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

Floats normal_values(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Floats values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

// Arrays for every observation, of a size that holds what is asked for below.
struct Sight {
  Floats out, row_max, row_sum, lse, entropy, position, distance, topk_weight, offset_mass, key_mass, segment_mass,
      overview, row_weights;
  std::vector<std::int32_t> topk_index;

  explicit Sight(std::size_t size) : topk_index(size, -7) {
    for (Floats* array : all()) array->assign(size, -7);
  }
  std::vector<Floats*> all() {
    return {&out,         &row_max,     &row_sum,  &lse,          &entropy,  &position,   &distance,
            &topk_weight, &offset_mass, &key_mass, &segment_mass, &overview, &row_weights};
  }
};

// Grouped heads, D != Dv, K and V as [B, N, H, D] in memory, two blocks of keys, a bias and a mask.
class AttentionOfC : public testing::Test {
 protected:
  static constexpr std::int64_t kBatch = 2, kHeads = 4, kKvHeads = 2, kQueries = 19, kKeys = 71, kWidth = 10,
                                kValueWidth = 7;
  static constexpr std::int64_t kRows = kBatch * kHeads * kQueries;

  AttentionOfC() {
    for (std::size_t i = 0; i < mask_.size(); ++i) mask_[i] = i % 5 != 2;
    for (std::size_t i = 0; i < segments_.size(); ++i) segments_[i] = static_cast<std::int32_t>(i % 4) - 1;
    problem_.q = dense_view(q_.data(), {kBatch, kHeads, kQueries, kWidth});
    problem_.k = heads_inside(k_, kWidth);
    problem_.v = heads_inside(v_, kValueWidth);
    problem_.scale = 0.75f;
    problem_.causal = true;
    problem_.mask = {mask_.data(), DType::boolean, {1, 1, 1, kKeys}, {0, 0, 0, 1}};
    problem_.bias = {bias_.data(), DType::f32, {1, kHeads, 1, kKeys}, {0, kKeys, 0, 1}};
    problem_.sequences = spans_;
  }

  static TensorView heads_inside(const Floats& data, std::int64_t width) {
    return {data.data(),
            DType::f32,
            {kBatch, kKvHeads, kKeys, width},
            {kKeys * kKvHeads * width, width, kKvHeads * width, 1}};
  }

  static sightline_tensor in_c(const TensorView& view) {
    sightline_tensor tensor{view.data, view.dtype == DType::boolean ? SIGHTLINE_BOOL : SIGHTLINE_F32, {}, {}};
    std::copy(view.shape.begin(), view.shape.end(), tensor.shape);
    std::copy(view.strides.begin(), view.strides.end(), tensor.strides);
    return tensor;
  }

  MutableTensorView output(Sight& sight) const {
    return dense_view(sight.out.data(), {kBatch, kHeads, kQueries, kValueWidth});
  }

  void run_cpp(Sight& s) const {
    Observations see;
    see.row_max = s.row_max.data();
    see.row_sum = s.row_sum.data();
    see.lse = s.lse.data();
    see.entropy = s.entropy.data();
    see.position = s.position.data();
    see.distance = s.distance.data();
    see.top_k = 3;
    see.topk_index = s.topk_index.data();
    see.topk_weight = s.topk_weight.data();
    see.offsets = offsets_;
    see.offset_mass = s.offset_mass.data();
    see.key_mass = s.key_mass.data();
    see.mass_row_begin = 2;
    see.mass_row_end = 11;
    see.segment_of_key = segments_;
    see.segments = 3;
    see.segment_mass = s.segment_mass.data();
    see.overview_rows = 4;
    see.overview_cols = 9;
    see.overview = s.overview.data();
    see.rows = chosen_;
    see.row_weights = s.row_weights.data();
    attention(problem_, output(s), see, {1});
  }

  sightline_attention_args args_of(Sight& s) const {
    sightline_attention_args a{};
    a.struct_size = sizeof a;
    a.q = in_c(problem_.q);
    a.k = in_c(problem_.k);
    a.v = in_c(problem_.v);
    const MutableTensorView out = output(s);
    a.out.data = out.data;
    std::copy(out.shape.begin(), out.shape.end(), a.out.shape);
    std::copy(out.strides.begin(), out.strides.end(), a.out.strides);
    a.threads = 2;
    a.has_scale = 1;
    a.scale = *problem_.scale;
    a.causal = 1;
    a.mask = in_c(problem_.mask);
    a.bias = in_c(problem_.bias);
    a.sequences = c_spans_;
    a.sequence_count = 2;
    return a;
  }

  int run_c(Sight& s) const {
    sightline_attention_args a = args_of(s);
    a.row_max = s.row_max.data();
    a.row_sum = s.row_sum.data();
    a.lse = s.lse.data();
    a.entropy = s.entropy.data();
    a.position = s.position.data();
    a.distance = s.distance.data();
    a.top_k = 3;
    a.topk_index = s.topk_index.data();
    a.topk_weight = s.topk_weight.data();
    a.offsets = offsets_.data();
    a.offset_count = static_cast<std::int64_t>(offsets_.size());
    a.offset_mass = s.offset_mass.data();
    a.key_mass = s.key_mass.data();
    a.mass_row_begin = 2;
    a.mass_row_end = 11;
    a.segment_of_key = segments_.data();
    a.segment_key_count = kKeys;
    a.segments = 3;
    a.segment_mass = s.segment_mass.data();
    a.overview_rows = 4;
    a.overview_cols = 9;
    a.overview = s.overview.data();
    a.rows = chosen_.data();
    a.row_count = static_cast<std::int64_t>(chosen_.size());
    a.row_weights = s.row_weights.data();
    return sightline_attention(&a, message_, sizeof message_);
  }

  const Floats q_ = normal_values(kBatch * kHeads * kQueries * kWidth, 1);
  const Floats k_ = normal_values(kBatch * kKvHeads * kKeys * kWidth, 2);
  const Floats v_ = normal_values(kBatch * kKvHeads * kKeys * kValueWidth, 3);
  const Floats bias_ = normal_values(kHeads * kKeys, 4);
  std::vector<unsigned char> mask_ = std::vector<unsigned char>(kKeys);
  std::vector<std::int32_t> segments_ = std::vector<std::int32_t>(kKeys);
  const std::vector<std::int64_t> offsets_ = {-1, 0, 1}, chosen_ = {0, 18, 5};
  const std::vector<SequenceSpan> spans_ = {{60, 3, 50}, {-1, 0, {}}};
  const sightline_sequence c_spans_[2] = {{60, 3, 1, 50}, {-1, 0, 0, 0}};
  AttentionProblem problem_;
  mutable char message_[200] = "";
};

TEST_F(AttentionOfC, HasTheBitsOfTheCppInterface) {
  Sight cpp(kRows * kKeys), c(kRows * kKeys);
  run_cpp(cpp);
  ASSERT_EQ(run_c(c), SIGHTLINE_OK) << message_;
  const auto expected = cpp.all(), got = c.all();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(bits(*got[i]), bits(*expected[i])) << "array " << i;
    EXPECT_NE(got[i]->front(), -7) << "array " << i << " was not written";
  }
  EXPECT_EQ(c.topk_index, cpp.topk_index);
}

TEST_F(AttentionOfC, WritesNothingThatWasNotAskedFor) {
  Sight asked(kRows * kKeys), untouched(kRows * kKeys);
  const sightline_attention_args a = args_of(asked);
  ASSERT_EQ(sightline_attention(&a, message_, sizeof message_), SIGHTLINE_OK) << message_;
  EXPECT_NE(bits(asked.out), bits(untouched.out));
  EXPECT_EQ(bits(asked.lse), bits(untouched.lse));
}

TEST(VersionOfC, IsThatOfTheCppInterface) {
  EXPECT_STREQ(sightline_version(), SIGHTLINE_VERSION);
  EXPECT_EQ(sightline_arithmetic_version(), kArithmeticVersion);
  ASSERT_NE(sightline_simd_target(), nullptr);
  EXPECT_EQ(sightline_simd_target(), simd_target());
}

}  // namespace
}  // namespace sightline
