#ifndef SIGHTLINE_TOOLS_CONFORM_REPORT_PROBLEM_H_
#define SIGHTLINE_TOOLS_CONFORM_REPORT_PROBLEM_H_

#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

#include "sightline/attention.h"
#include "tools/conform/case_values.h"
#include "tools/conform/engine.h"

namespace sightline::conform {

/// An attention problem of reports.jsonl and what it points into. It stays where it was made.
class ReportProblem {
 public:
  /// Reads q, k, v, mask, bias, causal, window, scale, softcap, sinks and dtype, as far as they are given.
  explicit ReportProblem(const nlohmann::json& given);
  ReportProblem() = default;
  ReportProblem(const ReportProblem&) = delete;
  ReportProblem& operator=(const ReportProblem&) = delete;

  /// Keeps a tensor alive and gives its view.
  TensorView keep(Input input) { return inputs_.emplace_back(std::move(input)).view(); }

  AttentionProblem problem;
  std::vector<float> sinks;
  std::vector<SequenceSpan> sequences;

 private:
  void set_options(const nlohmann::json& given);
  std::deque<Input> inputs_;  // never moves its elements
};

/// Compares out, lse, entropy and probs with those that `expected` has, within its "tol".
void check_values(const AttentionValues& got, const nlohmann::json& expected);

/// Throws Mismatch where the bits of out, lse, entropy, top keys or weights of the two differ.
void expect_same_bits(const std::string& what, const AttentionValues& got, const AttentionValues& expected);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_REPORT_PROBLEM_H_
