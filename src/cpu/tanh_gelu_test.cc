#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/tanh_gelu_test.cc"
#include "hwy/foreach_target.h"
#include "src/cpu/gelu-inl.h"
#include "src/cpu/tanh-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

void tanh_array(const float* in, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) store(tanh(load(in + i)), out + i);
}
void gelu_array(const float* in, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) store(gelu(load(in + i)), out + i);
}
void gelu_tanh_array(const float* in, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) store(gelu_tanh(load(in + i)), out + i);
}
void silu_array(const float* in, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) store(silu(load(in + i)), out + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "src/cpu/dispatch.h"
#include "src/cpu/target.h"

namespace sightline {
namespace {

HWY_EXPORT(tanh_array);
HWY_EXPORT(gelu_array);
HWY_EXPORT(gelu_tanh_array);
HWY_EXPORT(silu_array);

using ArrayFunction = void (*)(const float*, float*, std::size_t);

void run_tanh(const float* in, float* out, std::size_t count) { SIGHTLINE_DISPATCH(tanh_array)(in, out, count); }
void run_gelu(const float* in, float* out, std::size_t count) { SIGHTLINE_DISPATCH(gelu_array)(in, out, count); }
void run_gelu_tanh(const float* in, float* out, std::size_t count) {
  SIGHTLINE_DISPATCH(gelu_tanh_array)(in, out, count);
}
void run_silu(const float* in, float* out, std::size_t count) { SIGHTLINE_DISPATCH(silu_array)(in, out, count); }

// x Phi(x) without cancellation on either side.
double exact_gelu(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
double exact_gelu_tanh(double x) {
  const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

struct Function {
  const char* name;
  ArrayFunction run;
  double (*exact)(double);
  double bound;             // ULP, as the header states
  double floor = 0x1p-122;  // the absolute error that counts as none
};

constexpr Function kFunctions[] = {
    {"tanh", run_tanh, [](double x) { return std::tanh(x); }, 2.5},
    {"gelu", run_gelu, exact_gelu, 6},
    {"gelu_tanh", run_gelu_tanh, exact_gelu_tanh, 6},
    {"silu", run_silu, [](double x) { return x / (1 + std::exp(-x)); }, 6, 0x1p-119},
};

constexpr std::size_t kChunk = 1 << 14;

// Every `step`-th of the 2^32 patterns; a prime meets all exponents and low digits. SIGHTLINE_EXHAUSTIVE=1 visits all.
template <class Visit>
void sweep(std::uint32_t step, Visit visit) {
  if (std::getenv("SIGHTLINE_EXHAUSTIVE") != nullptr) step = 1;
  std::vector<float> in(kChunk), out(kChunk);
  for (std::uint64_t at = 0; at <= UINT32_MAX;) {
    for (float& value : in) {
      value = std::bit_cast<float>(static_cast<std::uint32_t>(std::min<std::uint64_t>(at, UINT32_MAX)));
      at += step;
    }
    visit(in, out);
  }
}

// In ULP of the exact value; below `floor`, where tails are cut off, 0.
double error_in_ulp(float got, double exact, double floor) {
  if (std::abs(got - exact) <= floor) return 0;
  const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::abs(got - exact) / ulp;
}

class TanhGeluTest : public testing::Test {
 protected:
  void TearDown() override { cpu::force_target(""); }
};

TEST_F(TanhGeluTest, StayWithinTheirBounds) {
  for (const Function& f : kFunctions) {
    double worst = 0;
    float worst_at = 0;
    sweep(1009, [&](const std::vector<float>& in, std::vector<float>& out) {
      f.run(in.data(), out.data(), kChunk);
      for (std::size_t i = 0; i < kChunk; ++i) {
        if (!std::isfinite(in[i])) continue;
        const double error = error_in_ulp(out[i], f.exact(in[i]), f.floor);
        if (!(error <= worst)) worst = error, worst_at = in[i];
      }
    });
    RecordProperty(f.name, std::to_string(worst));
    EXPECT_LE(worst, f.bound) << f.name << " at " << worst_at;
    EXPECT_GE(worst, 0.4) << f.name << ": fp32 cannot do better, so the measure is broken";
  }
}

TEST_F(TanhGeluTest, GiveTheSameBitsOnEveryTarget) {
  const std::vector<std::string> targets = cpu::available_targets();
  for (const Function& f : kFunctions) {
    sweep(100003, [&](const std::vector<float>& in, std::vector<float>& out) {
      cpu::force_target(targets[0]);
      f.run(in.data(), out.data(), kChunk);
      for (std::size_t t = 1; t < targets.size(); ++t) {
        std::vector<float> other(kChunk);
        cpu::force_target(targets[t]);
        f.run(in.data(), other.data(), kChunk);
        for (std::size_t i = 0; i < kChunk; ++i) {
          if (std::isnan(out[i]) && std::isnan(other[i])) continue;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(other[i]))
              << f.name << " at " << in[i] << " on " << targets[t];
        }
      }
    });
  }
}

TEST_F(TanhGeluTest, SpecialValues) {
  std::vector<float> in(16, 0.0f), out(16);
  in[1] = -0.0f, in[2] = INFINITY, in[3] = -INFINITY, in[4] = NAN, in[5] = -NAN, in[6] = 1e30f, in[7] = -1e30f;
  in[8] = std::bit_cast<float>(0x7f800001u);
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    for (const Function& f : kFunctions) {
      SCOPED_TRACE(std::string(f.name) + " on " + target);
      f.run(in.data(), out.data(), 16);
      EXPECT_EQ(0.0f, out[0]);
      EXPECT_EQ(0.0f, out[1]);
      const bool bounded = f.run == run_tanh;
      EXPECT_EQ(bounded ? 1.0f : INFINITY, out[2]);
      EXPECT_EQ(bounded ? -1.0f : 0.0f, out[3]);
      EXPECT_TRUE(std::isnan(out[4]));
      EXPECT_TRUE(std::isnan(out[5]));
      EXPECT_EQ(bounded ? 1.0f : 1e30f, out[6]);
      EXPECT_EQ(bounded ? -1.0f : 0.0f, out[7]);
      EXPECT_TRUE(std::isnan(out[8]));
    }
  }
}

}  // namespace
}  // namespace sightline
#endif  // HWY_ONCE
