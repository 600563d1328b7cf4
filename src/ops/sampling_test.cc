#include "src/ops/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "sightline/error.h"
#include "src/ops/exact_math.h"

namespace sightline::ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The authors' generators: splitmix64.c from the state 1234567, xoshiro256starstar.c from the state 1, 2, 3, 4.
TEST(Random, GivesThePublishedNumbers) {
  std::uint64_t state = 1234567;
  for (const std::uint64_t want : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                   4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(splitmix(state), want);
  }
  Random random(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  for (const std::uint64_t want :
       {std::uint64_t{11520}, std::uint64_t{0}, std::uint64_t{1509978240}, std::uint64_t{1215971899390074240u},
        std::uint64_t{1216172134540287360u}, std::uint64_t{607988272756665600u}, std::uint64_t{16172922978634559625u},
        std::uint64_t{8476171486693032832u}, std::uint64_t{10595114339597558777u},
        std::uint64_t{2904607092377533576u}}) {
    EXPECT_EQ(random.bits(), want);
  }
}

TEST(Random, IsSeededBySplitmix) {
  std::uint64_t seed = 42;
  std::array<std::uint64_t, 4> state;
  for (std::uint64_t& word : state) word = splitmix(seed);
  Random seeded(42), same(state), other(43);
  EXPECT_EQ(seeded.bits(), same.bits());
  EXPECT_NE(seeded.bits(), other.bits());
}

TEST(Random, UniformIsTheUpperBits) {
  Random bits(7), uniform(7);
  for (int i = 0; i < 1000; ++i) {
    const double value = uniform.uniform();
    EXPECT_EQ(value, std::ldexp(static_cast<double>(bits.bits() >> 11), -53));
    EXPECT_TRUE(value >= 0 && value < 1);
  }
}

TEST(ExactMath, ExpIsWithinTwoUnits) {
  for (int i = 0; i <= 200'000; ++i) {
    const double x = -700.0 * i / 200'000, want = std::exp(x);
    EXPECT_NEAR(exact_exp(x), want, 2 * (std::nextafter(want, 1) - want)) << x;
  }
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_EQ(exact_exp(-701), 0);
  EXPECT_EQ(exact_exp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE(std::isnan(exact_exp(std::numeric_limits<double>::quiet_NaN())));
}

TEST(ExactMath, LnIsClose) {
  for (double x = 1e-300; x < 1e300; x *= 1.0371) {
    EXPECT_NEAR(exact_ln(x), std::log(x), 1e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  EXPECT_EQ(exact_ln(1), 0);
}

// Bits that any machine must give: they follow from IEEE arithmetic, here once in Python's.
TEST(ExactMath, HasTheseBits) {
  EXPECT_EQ(exact_exp(-1), 0x1.78b56362cef38p-2);
  EXPECT_EQ(exact_exp(-10.5), 0x1.cdfc263f6a0bap-16);
  EXPECT_EQ(exact_ln(10), 0x1.26bb1bbb55515p+1);
  EXPECT_EQ(exact_ln(151936.7), 0x1.7dcc8c5875c16p+3);
}

std::int32_t one(const model::SamplingOptions& options, const std::vector<float>& logits,
                 const std::vector<std::int32_t>& past = {}) {
  return Sampler(options).next(logits, past).value_or(-1);
}

TEST(Sampler, TakesTheLikeliestAtTemperatureZero) {
  EXPECT_EQ(one({}, {1, 3, 2}), 1);
  EXPECT_EQ(one({}, {1, 3, 3}), 1);  // of equals the lowest id
  EXPECT_EQ(one({}, {kNan, 1, kNan, 2}), 3);
  EXPECT_EQ(one({}, {-kInf, -1e30f}), 1);
  EXPECT_EQ(one({}, {kNan, -kInf}), -1);
  EXPECT_EQ(one({.temperature = 1}, {kNan, -kInf}), -1);
  EXPECT_EQ(one({.temperature = 1}, {1, kInf, kInf}), 1);
  EXPECT_EQ(one({}, {}), -1);
}

TEST(Sampler, TakesTheFirstOfTheLikeliestWhereverItStands) {
  Sampler sampler({});
  for (const std::size_t size : {1, 15, 16, 17, 50}) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<float> logits(size, -2.0f);
      for (std::size_t i = 0; i < size; i += 3) logits[i] = kNan;
      logits[at] = -1.0f;
      if (at + 7 < size) logits[at + 7] = -1.0f;
      EXPECT_EQ(sampler.next(logits, {}), static_cast<std::int32_t>(at));
    }
    EXPECT_EQ(sampler.next(std::vector<float>(size, kNan), {}), std::nullopt);
    EXPECT_EQ(sampler.next(std::vector<float>(size, -std::numeric_limits<float>::infinity()), {}), std::nullopt);
  }
}

TEST(Sampler, WeakensTokensSeenLately) {
  const std::vector<float> logits = {4, 3, -1, -1.5f};
  EXPECT_EQ(one({.repeat_penalty = 2}, logits, {0}), 1);        // 2, 3, -1, -1.5
  EXPECT_EQ(one({.repeat_penalty = 2}, logits, {0, 1, 0}), 0);  // once each: 2, 1.5
  EXPECT_EQ(one({.repeat_penalty = 2}, {-1, -1.5f}, {0}), 1);   // -2, -1.5
  EXPECT_EQ(one({.repeat_penalty = 2, .repeat_last = 1}, logits, {0, 2}), 0);
  EXPECT_EQ(one({.repeat_penalty = 2, .repeat_last = 0}, logits, {0}), 0);
  EXPECT_EQ(one({.repeat_penalty = 2, .repeat_last = -1}, logits, std::vector<std::int32_t>(500, 0)), 1);
  EXPECT_EQ(one({.repeat_penalty = 2}, logits, {0, 99, -5}), 1);  // ids that have no logit
}

// How often each id is drawn.
std::map<std::int32_t, int> drawn(model::SamplingOptions options, const std::vector<float>& logits, int count) {
  options.seed = 20240607;
  Sampler sampler(options);
  std::map<std::int32_t, int> times;
  for (int i = 0; i < count; ++i) ++times[sampler.next(logits, {}).value()];
  return times;
}

std::set<std::int32_t> ids_drawn(const model::SamplingOptions& options, const std::vector<float>& logits) {
  std::set<std::int32_t> ids;
  for (const auto& [id, times] : drawn(options, logits, 3000)) ids.insert(id);
  return ids;
}

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + 3));
  return logits;
}

// Pearson's statistic against probabilities; the bound is the 99.9 % point of chi-squared with `degrees` of freedom.
void expect_distribution(const std::map<std::int32_t, int>& times, const std::vector<double>& want, double bound) {
  double total = 0, statistic = 0;
  for (const auto& [id, count] : times) total += count;
  for (std::size_t id = 0; id < want.size(); ++id) {
    const auto found = times.find(static_cast<std::int32_t>(id));
    const double got = found == times.end() ? 0 : found->second, expected = want[id] * total;
    statistic += (got - expected) * (got - expected) / expected;
  }
  EXPECT_LT(statistic, bound);
}

TEST(Sampler, DrawsByTheSoftmax) {
  const std::vector<double> p = {0.4, 0.05, 0.25, 0.1, 0.2};
  expect_distribution(drawn({.temperature = 1}, logits_of(p), 100'000), p, 18.47);  // 4 degrees
}

TEST(Sampler, TemperatureRaisesProbabilitiesToItsInverse) {
  const std::vector<double> p = {0.4, 0.05, 0.25, 0.1, 0.2};
  for (const double temperature : {0.5, 2.0}) {
    std::vector<double> want;
    double sum = 0;
    for (const double q : p) sum += want.emplace_back(std::pow(q, 1 / temperature));
    for (double& q : want) q /= sum;
    expect_distribution(drawn({.temperature = temperature}, logits_of(p), 100'000), want, 18.47);
  }
}

TEST(Sampler, FiltersKeepWhatTheySay) {
  using Ids = std::set<std::int32_t>;
  const std::vector<float> logits = logits_of({0.4, 0.05, 0.25, 0.1, 0.2});
  EXPECT_EQ(ids_drawn({.temperature = 1, .top_k = 2}, logits), (Ids{0, 2}));
  EXPECT_EQ(ids_drawn({.temperature = 1, .top_k = 1}, logits), (Ids{0}));
  EXPECT_EQ(ids_drawn({.temperature = 1, .top_k = 99}, logits), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(ids_drawn({.temperature = 1, .top_p = 0.39}, logits), (Ids{0}));
  EXPECT_EQ(ids_drawn({.temperature = 1, .top_p = 0.6}, logits), (Ids{0, 2}));  // 0.65: the one that crosses is in
  EXPECT_EQ(ids_drawn({.temperature = 1, .top_p = 0.7}, logits), (Ids{0, 2, 4}));
  EXPECT_EQ(ids_drawn({.temperature = 1, .min_p = 0.3}, logits), (Ids{0, 2, 4}));
  EXPECT_EQ(ids_drawn({.temperature = 1, .min_p = 1}, logits), (Ids{0}));
  EXPECT_EQ(ids_drawn({.temperature = 1, .top_k = 2}, {1, 1, 1}), (Ids{0, 1}));  // of equals the lower ids
}

// llama.cpp's order. After top-k 2 the first has 0.4 / 0.65 = 0.615 of what is left, so that top-p 0.6 keeps it alone;
// filters see probabilities before the temperature.
TEST(Sampler, FiltersActInLlamaCppsOrder) {
  using Ids = std::set<std::int32_t>;
  const std::vector<float> logits = logits_of({0.4, 0.05, 0.25, 0.1, 0.2});
  EXPECT_EQ(ids_drawn({.temperature = 1, .top_k = 2, .top_p = 0.6}, logits), (Ids{0}));
  EXPECT_EQ(ids_drawn({.temperature = 50, .top_p = 0.6}, logits), (Ids{0, 2}));
  EXPECT_EQ(ids_drawn({.temperature = 50, .min_p = 0.3}, logits), (Ids{0, 2, 4}));
}

// What is left keeps its proportions.
TEST(Sampler, WhatIsLeftIsDrawnByItsShares) {
  const auto times = drawn({.temperature = 1, .top_k = 2}, logits_of({0.4, 0.05, 0.25, 0.1, 0.2}), 100'000);
  expect_distribution({{0, times.at(0)}, {1, times.at(2)}}, {0.4 / 0.65, 0.25 / 0.65}, 10.83);
}

// Of many tokens, more than are sorted at first.
TEST(Sampler, TopPOfAFlatDistributionKeepsItsShare) {
  const std::vector<float> flat(10'000, 0.5f);
  std::int32_t largest = 0;
  for (const auto& [id, times] : drawn({.temperature = 1, .top_p = 0.9}, flat, 200)) largest = std::max(largest, id);
  EXPECT_LT(largest, 9'000);
  EXPECT_GT(largest, 8'500);
}

TEST(Sampler, ASeedDecides) {
  const std::vector<float> logits(50, 0);
  const auto text = [&](std::uint64_t seed) {
    Sampler sampler({.temperature = 0.8, .seed = seed});
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 40; ++i) ids.push_back(sampler.next(logits, ids).value());
    return ids;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  const model::SamplingOptions wrong[] = {{.temperature = -1}, {.temperature = NAN},  {.top_k = -1},
                                          {.top_p = 0},        {.top_p = 1.5},        {.min_p = -0.1},
                                          {.min_p = 2},        {.repeat_penalty = 0}, {.repeat_penalty = INFINITY},
                                          {.repeat_last = -2}};
  for (const model::SamplingOptions& options : wrong) EXPECT_THROW(Sampler{options}, BadArgument);
}

TEST(LogProbability, IsTheLogarithmOfTheSoftmax) {
  EXPECT_NEAR(log_probability(std::vector<float>{0, 0, 0, 0}, 2), std::log(0.25), 1e-15);
  EXPECT_NEAR(log_probability(std::vector<float>{1, 1001}, 0), -1000, 1e-12);
  EXPECT_EQ(log_probability(std::vector<float>{1, 1001}, 1), 0);
  EXPECT_NEAR(log_probability(logits_of({0.4, 0.05, 0.25, 0.1, 0.2}), 3), std::log(0.1), 1e-6);
}

}  // namespace
}  // namespace sightline::ops
