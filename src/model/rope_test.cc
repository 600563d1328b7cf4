#include "src/model/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace sightline::model {
namespace {

// Heads of 16 elements; values as transformers 5.24 computes them in fp32 (ROPE_INIT_FUNCTIONS).
struct Case {
  const char* name;
  Rope rope;
  std::int64_t length;
  double factor;
  std::vector<double> angle;
};

Rope make_rope(RopeScaling scaling, double factor, std::int64_t original) {
  Rope rope;
  rope.scaling = scaling;
  rope.width = 16;
  rope.factor = factor;
  rope.original_positions = original;
  return rope;
}

Rope make_longrope() {
  Rope rope = make_rope(RopeScaling::longrope, 4, 16);
  for (int i = 0; i < 8; ++i) {
    rope.short_factors.push_back(1 + 0.05 * i);
    rope.long_factors.push_back(1 + 0.4 * i);
  }
  return rope;
}

Rope make_untruncated_yarn() {
  Rope rope = make_rope(RopeScaling::yarn, 4, 32);
  rope.base = 15000;
  rope.truncate = false;
  rope.beta_fast = 8;
  rope.beta_slow = 2;
  return rope;
}

Rope make_mscale_yarn() {
  Rope rope = make_rope(RopeScaling::yarn, 40, 4096);
  rope.mscale = 1.0;
  rope.mscale_all_dim = 0.707;
  return rope;
}

Rope make_llama3() {
  Rope rope = make_rope(RopeScaling::llama3, 8, 256);
  rope.low_frequency_factor = 1;
  rope.high_frequency_factor = 4;
  return rope;
}

const std::vector<double> kPlain = {1, 0.31622776, 0.1, 0.031622779, 0.0099999998, 0.0031622779, 0.001, 0.00031622779};

std::vector<Case> cases() {
  const Rope dynamic = make_rope(RopeScaling::dynamic, 4, 64), yarn = make_rope(RopeScaling::yarn, 4, 32);
  return {
      {"none", make_rope(RopeScaling::none, 1, 0), 100, 1, kPlain},
      {"linear",
       make_rope(RopeScaling::linear, 4, 0),
       100,
       1,
       {0.25, 0.079056941, 0.025, 0.0079056947, 0.0024999999, 0.00079056947, 0.00025000001, 7.9056947e-05}},
      {"dynamic, short", dynamic, 10, 1, kPlain},
      {"dynamic, at its length", dynamic, 64, 1, kPlain},
      {"dynamic, one beyond",
       dynamic,
       65,
       1,
       {1, 0.31350085, 0.098282784, 0.030811736, 0.0096595054, 0.0030282631, 0.00094936311, 0.00029762613}},
      {"dynamic, beyond",
       dynamic,
       100,
       1,
       {1, 0.267223, 0.071408123, 0.019081892, 0.0050991201, 0.001362602, 0.00036411858, 9.730085e-05}},
      {"yarn",
       yarn,
       100,
       1.138629436111989,
       {1, 0.19764236, 0.025, 0.0079056947, 0.0024999999, 0.00079056947, 0.00025000001, 7.9056947e-05}},
      {"yarn, not truncated",
       make_untruncated_yarn(),
       100,
       1.138629436111989,
       {1, 0.075149938, 0.02259005, 0.006790563, 0.0020412414, 0.00061359664, 0.000184447, 5.5444714e-05}},
      {"yarn, mscale",
       make_mscale_yarn(),
       100,
       1.0857263992561355,
       {1, 0.31622776, 0.1, 0.023914725, 0.0051249997, 0.00084986218, 2.4999999e-05, 7.9056945e-06}},
      {"longrope, short",
       make_longrope(),
       16,
       1.224744871391589,
       {1, 0.30116931, 0.090909094, 0.027498068, 0.0083333328, 0.0025298223, 0.00076923077, 0.00023424279}},
      {"longrope, long",
       make_longrope(),
       17,
       1.224744871391589,
       {1, 0.22587697, 0.055555556, 0.01437399, 0.0038461538, 0.0010540927, 0.00029411764, 8.3217841e-05}},
      {"llama3",
       make_llama3(),
       100,
       1,
       {1, 0.31622776, 0.1, 0.0066131069, 0.00125, 0.00039528473, 0.00012500001, 3.9528473e-05}},
  };
}

TEST(RopeFrequencies, AreThoseOfTheReference) {
  for (const Case& c : cases()) {
    const RopeFrequencies got = rope_frequencies(c.rope, c.length);
    EXPECT_NEAR(c.factor, got.factor, 1e-12) << c.name;
    ASSERT_EQ(c.angle.size(), got.angle.size());
    for (std::size_t i = 0; i < c.angle.size(); ++i) {
      EXPECT_NEAR(c.angle[i], got.angle[i], 3e-6 * c.angle[i]) << c.name << " pair " << i;
    }
  }
}

TEST(RopeFrequencies, TakeAFactorThatIsGiven) {
  Rope yarn = make_rope(RopeScaling::yarn, 4, 32);
  yarn.attention_factor = 1.5;
  EXPECT_EQ(1.5, rope_frequencies(yarn, 1).factor);
  Rope longrope = make_longrope();
  longrope.attention_factor = 1.25;
  EXPECT_EQ(1.25, rope_frequencies(longrope, 1).factor);
}

// What GGUF stores as rope_freqs.weight for the llama3 scaling, so that both ways give the same.
TEST(RopeFrequencies, DividesByStoredDivisors) {
  Rope rope = make_rope(RopeScaling::divisors, 1, 0);
  const std::vector<double> want = rope_frequencies(make_llama3(), 1).angle;
  for (std::size_t i = 0; i < want.size(); ++i) {
    rope.divisors.push_back(static_cast<float>(std::pow(10000.0, -static_cast<double>(i) / 8) / want[i]));
  }
  const std::vector<double> got = rope_frequencies(rope, 1).angle;
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], got[i], 1e-7 * want[i]);
}

// Only those that follow the length may depend on it.
TEST(RopeFrequencies, DependOnTheLengthWhereTheySaySo) {
  for (const Case& c : cases()) {
    const bool same = rope_frequencies(c.rope, 1) == rope_frequencies(c.rope, 1000);
    EXPECT_EQ(!c.rope.follows_length(), same) << c.name;
  }
}

}  // namespace
}  // namespace sightline::model
