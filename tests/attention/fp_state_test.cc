// A caller may have set flush-to-zero, denormals-are-zero or another rounding mode: results are the same, and the state
// is the caller's again afterwards.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "tests/attention/observed.h"
#include "tests/attention/random_problem.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sightline::testing {
namespace {

#if defined(__x86_64__)
std::uint64_t control_word() { return _mm_getcsr() & 0xFFC0; }  // without the flags of past exceptions
void set_control_word(std::uint64_t word) { _mm_setcsr(static_cast<unsigned>(word)); }
constexpr std::uint64_t kFlush = 0x8040;  // FTZ and DAZ
#elif defined(__aarch64__)
std::uint64_t control_word() {
  std::uint64_t word;
  asm volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}
void set_control_word(std::uint64_t word) { asm volatile("msr fpcr, %0" ::"r"(word)); }
constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // FZ
#endif

// For its lifetime the thread has an unusual state.
class UnusualState {
 public:
  UnusualState(bool flush, int rounding) : saved_(control_word()) {
    std::fesetround(rounding);
    if (flush) set_control_word(control_word() | kFlush);
    set_ = control_word();
  }
  ~UnusualState() { set_control_word(saved_); }
  bool is_untouched() const { return control_word() == set_; }

 private:
  std::uint64_t saved_, set_ = 0;
};

// Called with its arguments prepared, so that nothing but attention() and tile() run in the unusual state.
struct Call {
  const RandomProblem& random;
  const ObservationRecipe& observations;
  Strided<float> out;

  Observed run(int threads, bool flush, int rounding, bool& untouched) {
    const UnusualState state(flush, rounding);
    Observed got(random.problem(), observations, out, threads);
    untouched = state.is_untouched();
    return got;
  }
};

void check_states(const ProblemRecipe& recipe) {
  const RandomProblem random(recipe);
  std::mt19937_64 numbers(recipe.seed + 1);
  const auto observations = ObservationRecipe::any(random.problem(), numbers);
  const Observed plain(random.problem(), observations, random.make_output(), 1);
  const auto plain_map = plain.map(random.problem(), Stage::weights);
  for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    bool untouched = false;
    Call call{random, observations, random.make_output()};
    const Observed got = call.run(1 + (rounding != FE_UPWARD), true, rounding, untouched);
    RC_ASSERT(untouched);
    const std::string difference = got.difference(plain);
    if (!difference.empty()) RC_FAIL(difference);
    std::vector<float> map;
    {
      const UnusualState state(true, rounding);
      map = got.map(random.problem(), Stage::weights);
    }
    for (std::size_t i = 0; i < map.size(); ++i) RC_ASSERT(same_bits(map[i], plain_map[i]));
  }
}

TEST(AttentionFpState, AnyRoundingAndFlushingGiveTheSameBits) {
  Skips skips;
  check_property(
      [&] {
        const ProblemRecipe recipe = *any_recipe();
        skips.run(recipe, [&] { check_states(recipe); });
      },
      0.1);
}

// Values that flushing would lose: two equal weights on denormal values give their mean, a denormal.
TEST(AttentionFpState, DenormalsSurvive) {
  const float q[] = {0}, k[] = {0, 0}, v[] = {0x1p-140f, 0x3p-140f};
  AttentionProblem problem;
  problem.q = dense_view(q, {1, 1, 1, 1});
  problem.k = dense_view(k, {1, 1, 2, 1});
  problem.v = dense_view(v, {1, 1, 2, 1});
  float out = -1;
  {
    const UnusualState state(true, FE_TONEAREST);
    attention(problem, dense_view(&out, {1, 1, 1, 1}), {}, {1});
  }
  EXPECT_EQ(out, 0x1p-139f);
}

}  // namespace
}  // namespace sightline::testing
