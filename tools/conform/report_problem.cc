#include "tools/conform/report_problem.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/conform/recorder.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// Exact for the small whole numbers that half-precision cases hold.
Input in_half_precision(const Array& array) {
  std::vector<std::uint16_t> halves;
  for (const double value : array.values) {
    int exponent = 0;
    const int mantissa = static_cast<int>(std::ldexp(std::frexp(std::abs(value), &exponent), 11));  // 1024..2047 or 0
    const int bits = mantissa == 0 ? 0 : (exponent + 14) << 10 | (mantissa & 1023);
    halves.push_back(static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0)));
  }
  return {DType::f16, array.shape, halves.data()};
}

// Puts `value` into V wherever no query may see the key.
void overwrite_hidden(Array& v, const Array& mask, double value) {
  const std::int64_t keys = mask.shape.back(), rows = mask.shape.front(), width = v.shape.back();
  for (std::int64_t j = 0; j < keys; ++j) {
    bool seen = false;
    for (std::int64_t i = 0; i < rows; ++i) seen |= mask.values[i * keys + j] != 0;
    if (!seen) std::fill_n(v.values.begin() + j * width, width, value);
  }
}

}  // namespace

ReportProblem::ReportProblem(const json& given) {
  const auto operand = [&](const char* name) {
    Array array = case_array(given.at(name));
    if (*name == 'v' && given.contains("set_hidden_v_to")) {
      overwrite_hidden(array, case_array(given.at("mask")), given.at("set_hidden_v_to"));
    }
    if (given.value("dtype", "f32") == "f16") return keep(in_half_precision(array));
    return keep(Input::of_floats(array.shape, {array.values.begin(), array.values.end()}));
  };
  problem.q = operand("q");
  problem.k = operand("k");
  if (given.contains("v")) problem.v = operand("v");
  if (given.contains("mask")) problem.mask = keep(case_mask(given.at("mask")));
  if (given.contains("bias")) problem.bias = keep(case_input(given.at("bias")));
  set_options(given);
}

void ReportProblem::set_options(const json& given) {
  if (given.contains("causal")) {
    problem.causal = true;
    problem.alignment = given.at("causal") == "top_left" ? Alignment::top_left : Alignment::bottom_right;
  }
  if (given.contains("window")) problem.window_left = given.at("window").get<std::int64_t>() - 1;
  if (given.contains("scale")) problem.scale = given.at("scale").get<float>();
  problem.softcap = given.value("softcap", 0.0f);
  if (given.contains("sinks")) {
    sinks = given.at("sinks").get<std::vector<float>>();
    problem.sinks = sinks;
  }
}

void check_values(const AttentionValues& got, const json& expected) {
  const Tolerance tolerance = case_tolerance(expected.at("tol"));
  const auto check = [&](const char* name, const Array& array) {
    if (expected.contains(name)) expect_close(name, array, case_array(expected.at(name)), tolerance);
  };
  check("out", got.out);
  check("lse", got.lse);
  check("entropy", got.entropy);
  check("probs", got.weights);
}

void expect_same_bits(const std::string& what, const AttentionValues& got, const AttentionValues& expected) {
  const auto same = [&](const char* name, const Array& a, const Array& b) {
    expect_close(fmt::format("{}, bits of {}", what, name), a, b, {});
  };
  same("out", got.out, expected.out);
  same("lse", got.lse, expected.lse);
  same("entropy", got.entropy, expected.entropy);
  same("topk_weight", got.topk_weight, expected.topk_weight);
  same("weights", got.weights, expected.weights);
  expect(got.topk_index == expected.topk_index, what + ": other keys in topk_index");
}

}  // namespace sightline::conform
