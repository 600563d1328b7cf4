// Cases of one attention call.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sightline/error.h"
#include "tools/conform/report_problem.h"
#include "tools/conform/reports.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// What a check of one expectation is given.
struct Checked {
  const Engine& engine;
  const Report& report;
  const AttentionProblem& problem;
  const AttentionValues& got;
  const json& value;  // of the expectation
  Tolerance tolerance;
};

// A known wrong result must be told from ours.
void differs(const Checked& c) {
  const Array wrong = case_array(c.value);
  for (std::size_t i = 0; i < wrong.values.size(); ++i) {
    const double bound = c.tolerance.absolute + c.tolerance.relative * std::abs(wrong.values[i]);
    if (std::abs(c.got.out.values.at(i) - wrong.values[i]) > bound) return;
  }
  throw Mismatch("out: expected another result than the known wrong one");
}

void finite(const Checked& c) {
  for (const std::string name : c.value) {
    const Array& array = name == "out" ? c.got.out : c.got.lse;
    for (const double x : array.values)
      expect(std::isfinite(x), fmt::format("{}: expected finite values, got {}", name, x));
  }
}

void first_row_between(const Checked& c) {
  const std::vector<double> low = c.value.at(0), high = c.value.at(1);
  for (std::size_t d = 0; d < low.size(); ++d) {
    const double x = c.got.out.values.at(d), slack = c.tolerance.absolute;
    expect(x >= low[d] - slack && x <= high[d] + slack,
           fmt::format("out[0,{}]: expected a value in [{}, {}], got {}", d, low[d], high[d], x));
  }
}

void second_row(const Checked& c) {
  const std::int64_t width = c.got.out.shape[3];
  expect_close("out of row 1", take(c.got.out, {width, {width}, {1}}), case_array(c.value), c.tolerance);
}

void second_lse(const Checked& c) {
  expect_close("lse of row 1", {{1}, {c.got.lse.values.at(1)}}, {{1}, {c.value.get<double>()}}, c.tolerance);
}

void row_sums(const Checked& c) {
  Array sums = c.got.lse;
  const std::int64_t keys = c.got.weights.shape[3];
  for (std::size_t row = 0; row < sums.values.size(); ++row) {
    sums.values[row] = 0;
    for (std::int64_t j = 0; j < keys; ++j) sums.values[row] += c.got.weights.values[row * keys + j];
  }
  expect_close("sums of weights", sums, case_array(c.value), c.tolerance);
}

void visible(const Checked& c) {
  const Array mask = case_array(c.value);
  for (std::size_t i = 0; i < mask.values.size(); ++i) {
    expect((c.got.weights.values.at(i) > 0) == (mask.values[i] != 0),
           fmt::format("visible: weight {} is {}", i, c.got.weights.values[i]));
  }
}

void visible_per_row(const Checked& c) {
  const std::int64_t keys = c.got.weights.shape[3];
  for (std::size_t row = 0; row < c.value.size(); ++row) {
    const double* weights = c.got.weights.values.data() + row * keys;
    const auto seen = std::count_if(weights, weights + keys, [](double w) { return w > 0; });
    expect(seen == c.value.at(row),
           fmt::format("row {}: expected {} visible keys, got {}", row, c.value.at(row).dump(), seen));
  }
}

void raw_scores(const Checked& c) {
  const Array scores = c.engine.stage(c.problem, Stage::raw);
  expect_close("raw scores", scores, {scores.shape, c.value.get<std::vector<double>>()}, c.tolerance);
}

void rejects(const Checked& c) {
  if (!c.engine.validates) return;
  AttentionProblem wrong = c.problem;
  wrong.q.shape[1] = c.value.at("q_heads");
  wrong.k.shape[1] = wrong.v.shape[1] = c.value.at("kv_heads");
  wrong.k.strides[1] = wrong.v.strides[1] = 0;  // no more storage than there is
  try {
    c.engine.run(wrong, {});
  } catch (const BadArgument&) {
    return;
  }
  throw Mismatch(fmt::format("expected BadArgument for {}", c.value.dump()));
}

// Checked by check_values(), or by what the other expectations imply.
void elsewhere(const Checked&) {}

const std::map<std::string, void (*)(const Checked&)> kExpectations = {
    {"out", elsewhere},
    {"lse", elsewhere},
    {"entropy", elsewhere},
    {"probs", elsewhere},
    {"tol", elsewhere},
    {"kv_head_of_query_head", elsewhere},     // each head has its own values in out
    {"same_for_every_tile_size", elsewhere},  // the size of key blocks is part of the arithmetic, and fixed
    {"finite", finite},
    {"row0_each_coordinate_between", first_row_between},
    {"row1_out", second_row},
    {"row1_lse", second_lse},
    {"row_sum_of_probs", row_sums},
    {"visible", visible},
    {"visible_per_row", visible_per_row},
    {"raw_scores", raw_scores},
    {"must_reject", rejects},
};

void run_attention(const Report& report, const Engine& engine) {
  const ReportProblem attention(report.given);
  const AttentionValues got = engine.run(attention.problem, {});
  check_values(got, report.expected);
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  for (const auto& [name, value] : report.expected.items()) {
    const Checked checked{engine, report, attention.problem, got, value, tolerance};
    const auto known = kExpectations.find(name);
    if (name.starts_with("wrong_out_")) {
      differs(checked);
    } else if (known != kExpectations.end()) {
      known->second(checked);
    } else {
      throw Mismatch(fmt::format("the expectation {} is not understood", name));
    }
  }
}

void run_strided(const Report& report, const Engine& engine) {
  const json& given = report.given;
  ReportProblem attention;
  attention.problem.q = attention.keep(case_input(given.at("q")));
  attention.problem.k = attention.keep(case_input(given.at("k")));
  const Input storage = case_input(given.at("v_storage"));
  const json& view = given.at("v_view");
  attention.problem.v = storage.view(view.at("shape"), view.at("element_strides"), view.at("offset"));
  check_values(engine.run(attention.problem, {}), report.expected);
}

// A row with given scores: width 1, query and keys 0, and the scores as bias.
void run_row_entropy(const Report& report, const Engine& engine) {
  const auto& rows = report.given.at("score_rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t keys = static_cast<std::int64_t>(rows.at(i).size());
    std::vector<float> scores;
    for (const json& score : rows.at(i)) scores.push_back(static_cast<float>(case_number(score)));
    ReportProblem attention;
    attention.problem.q = attention.keep(Input::of_floats({1}, {0}));
    attention.problem.k = attention.problem.v =
        attention.keep(Input::of_floats({keys, 1}, std::vector<float>(keys, 0)));
    attention.problem.bias = attention.keep(Input::of_floats({keys}, scores));
    const Array entropy = engine.run(attention.problem, {}).entropy;
    expect_close(fmt::format("entropy of row {}", i), entropy,
                 {entropy.shape, {report.expected.at("entropy").at(i).get<double>()}},
                 case_tolerance(report.expected.at("tol")));
    expect(entropy.values[0] >= 0, fmt::format("entropy of row {}: expected 0 or more, got {}", i, entropy.values[0]));
  }
}

// Width 1, query 1 and scale 1: the scores are the keys.
void run_softcap(const Report& report, const Engine& engine) {
  const std::vector<float> scores = report.given.at("scores");
  const std::int64_t keys = static_cast<std::int64_t>(scores.size());
  ReportProblem attention;
  attention.problem.q = attention.keep(Input::of_floats({1}, {1}));
  attention.problem.k = attention.problem.v = attention.keep(Input::of_floats({keys, 1}, scores));
  attention.problem.scale = 1.0f;
  attention.problem.softcap = report.given.at("cap");
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  const Array capped = engine.stage(attention.problem, Stage::capped);
  expect_close("capped", capped, {capped.shape, report.expected.at("capped")}, tolerance);
  expect_close("probs", engine.run(attention.problem, {}).weights, {capped.shape, report.expected.at("probs")},
               tolerance);
}

constexpr ReportKind kKinds[] = {
    {"attention", run_attention},
    {"attention_strided", run_strided},
    {"row_entropy", run_row_entropy},
    {"softcap", run_softcap},
};

}  // namespace

std::span<const ReportKind> attention_kinds() { return kKinds; }

}  // namespace sightline::conform
