// Reports of passes over parts of the keys that were joined, and of ALiBi's slopes.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sightline/attention.h"
#include "sightline/state.h"
#include "tools/conform/case_values.h"
#include "tools/conform/reports.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// One row: its output and log-sum-exp.
struct Row {
  std::vector<float> out;
  float lse = 0;

  explicit Row(const json& given) : lse(static_cast<float>(case_number(given.at(1)))) {
    for (const json& value : given.at(0)) out.push_back(static_cast<float>(case_number(value)));
  }
  std::array<std::int64_t, 4> shape() const { return {1, 1, 1, static_cast<std::int64_t>(out.size())}; }
  PartialOutput part() const { return {dense_view(out.data(), shape()), &lse}; }
};

Array array_of(const std::vector<float>& values) {
  return {{static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()}};
}

void run_merge(const Report& report) {
  const json& parts = report.given.at("parts");
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Row a(parts.at(i).at("a")), b(parts.at(i).at("b")), expected(report.expected.at("merged").at(i));
    for (const auto& [left, right] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      Row merged = expected;
      merged.out.assign(merged.out.size(), NAN);
      merged.lse = NAN;
      merge_outputs(left->part(), right->part(), dense_view(merged.out.data(), merged.shape()), &merged.lse);
      expect_close(fmt::format("out of part {}", i), array_of(merged.out), array_of(expected.out), tolerance);
      expect_close(fmt::format("lse of part {}", i), array_of({merged.lse}), array_of({expected.lse}), tolerance);
    }
  }
}

void run_alibi_slopes(const Report& report) {
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  for (const std::int64_t heads : report.given.at("heads")) {
    const json& slopes = report.expected.at("slopes").at(std::to_string(heads));
    const std::vector<double> expected = slopes;
    expect_close(fmt::format("slopes of {} heads", heads), array_of(alibi_slopes(heads)), {{heads}, expected},
                 tolerance);
  }
}

constexpr ReportKind kKinds[] = {
    {"merge", nullptr, run_merge},
    {"alibi_slopes", nullptr, run_alibi_slopes},
};

}  // namespace

std::span<const ReportKind> state_kinds() { return kKinds; }

}  // namespace sightline::conform
