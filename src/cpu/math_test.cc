#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/math_test.cc"
#include "hwy/foreach_target.h"
#include "src/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

void exp2_array(const float* in, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) store(exp2_nonpositive(load(in + i)), out + i);
}
void ln_array(const float* in, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) store(ln_positive(load(in + i)), out + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "sightline/error.h"
#include "src/cpu/dispatch.h"
#include "src/cpu/target.h"

namespace sightline {
namespace {

HWY_EXPORT(exp2_array);
HWY_EXPORT(ln_array);

constexpr std::size_t kChunk = 1 << 16;
using Bits = std::uint32_t;

double ulp_error(float got, double want) {
  const float rounded = std::fabs(static_cast<float>(want));
  return std::fabs(got - want) / (std::nextafter(rounded, INFINITY) - rounded);
}

// Calls visit(inputs) for the floats whose bits run from first to last in steps.
template <class Visit>
void sweep(Bits first, Bits last, Bits step, Visit visit) {
  std::vector<float> in(kChunk);
  for (std::uint64_t at = first; at <= last;) {
    for (float& value : in) {
      value = std::bit_cast<float>(static_cast<Bits>(std::min<std::uint64_t>(at, last)));
      at += step;
    }
    visit(in);
  }
}

// A prime step reaches every exponent and low-bit pattern; SIGHTLINE_EXHAUSTIVE=1 visits every float.
Bits step_of(Bits prime) { return std::getenv("SIGHTLINE_EXHAUSTIVE") != nullptr ? 1 : prime; }

class EveryTarget : public testing::Test {
 protected:
  template <class Check>
  void for_each_target(Check check) {
    for (const std::string& target : cpu::available_targets()) {
      SCOPED_TRACE(target);
      cpu::force_target(target);
      check();
    }
    cpu::force_target("");
  }
};

using MathTest = EveryTarget;

TEST_F(MathTest, Exp2StaysWithinItsBound) {
  std::vector<float> out(kChunk);
  double worst = 0;
  const Bits from = std::bit_cast<Bits>(-0.0f), to = std::bit_cast<Bits>(-126.0f);
  sweep(from, to, step_of(7), [&](const std::vector<float>& in) {
    SIGHTLINE_DISPATCH(exp2_array)(in.data(), out.data(), kChunk);
    for (std::size_t i = 0; i < kChunk; ++i) {
      worst = std::max(worst, ulp_error(out[i], std::exp2(static_cast<double>(in[i]))));
    }
  });
  EXPECT_LE(worst, 2.1);
  EXPECT_GE(worst, 0.4);  // fp32 cannot do better: the measure itself works
}

TEST_F(MathTest, Exp2OfSpecialValues) {
  for_each_target([] {
    const float nan_with_payload = std::bit_cast<float>(0x7fc00001u);
    std::vector<float> in(16, 0.0f);
    in[1] = -INFINITY, in[2] = -126.0f, in[3] = -127.0f, in[4] = -1e30f, in[5] = nan_with_payload, in[6] = -1.0f;
    in[7] = -0.0f, in[8] = std::bit_cast<float>(0xffffffffu), in[9] = std::nextafter(-126.0f, -INFINITY);
    std::vector<float> out(16);
    SIGHTLINE_DISPATCH(exp2_array)(in.data(), out.data(), 16);
    EXPECT_EQ(out[0], 1.0f);
    EXPECT_EQ(out[1], 0.0f);
    EXPECT_FALSE(std::signbit(out[1]));
    EXPECT_EQ(out[2], std::ldexp(1.0f, -126));
    EXPECT_EQ(out[3], 0.0f);
    EXPECT_EQ(out[4], 0.0f);
    EXPECT_TRUE(std::isnan(out[5]));
    EXPECT_EQ(out[6], 0.5f);
    EXPECT_EQ(out[7], 1.0f);
    EXPECT_TRUE(std::isnan(out[8]));
    EXPECT_EQ(out[9], 0.0f);
  });
}

TEST_F(MathTest, LnStaysWithinItsBound) {
  std::vector<float> out(kChunk);
  double worst = 0;
  const Bits from = std::bit_cast<Bits>(std::numeric_limits<float>::min()), to = std::bit_cast<Bits>(3.4e38f);
  sweep(from, to, step_of(61), [&](const std::vector<float>& in) {
    SIGHTLINE_DISPATCH(ln_array)(in.data(), out.data(), kChunk);
    for (std::size_t i = 0; i < kChunk; ++i) {
      if (in[i] != 1.0f) worst = std::max(worst, ulp_error(out[i], std::log(static_cast<double>(in[i]))));
    }
  });
  EXPECT_LE(worst, 1.5);
  EXPECT_GE(worst, 0.4);
}

TEST_F(MathTest, LnOfSpecialValues) {
  for_each_target([] {
    std::vector<float> in(16, 1.0f), out(16);
    in[1] = INFINITY, in[2] = NAN;
    SIGHTLINE_DISPATCH(ln_array)(in.data(), out.data(), 16);
    EXPECT_EQ(out[0], 0.0f);
    EXPECT_EQ(out[1], INFINITY);
    EXPECT_TRUE(std::isnan(out[2]));
  });
}

TEST_F(MathTest, TargetsGiveTheSameBits) {
  std::vector<std::vector<float>> of_first;
  bool first = true;
  for_each_target([&] {
    std::vector<float> out(kChunk);
    std::size_t visit = 0;
    const auto compare = [&](const std::vector<float>&) {
      if (first) of_first.push_back(out);
      ASSERT_EQ(std::memcmp(of_first[visit++].data(), out.data(), kChunk * sizeof(float)), 0);
    };
    sweep(0x80000000u, 0xc3000000u, 5003, [&](const std::vector<float>& in) {
      SIGHTLINE_DISPATCH(exp2_array)(in.data(), out.data(), kChunk);
      compare(in);
    });
    sweep(0x00800000u, 0x7f7fffffu, 10007, [&](const std::vector<float>& in) {
      SIGHTLINE_DISPATCH(ln_array)(in.data(), out.data(), kChunk);
      compare(in);
    });
    first = false;
  });
}

TEST(TargetTest, RefusesUnknownNames) {
  EXPECT_THROW(cpu::force_target("SSE9"), BadArgument);
  EXPECT_EQ(cpu::chosen_target(), cpu::available_targets().front());
}

}  // namespace
}  // namespace sightline
#endif  // HWY_ONCE
