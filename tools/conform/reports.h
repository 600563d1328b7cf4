#ifndef SIGHTLINE_TOOLS_CONFORM_REPORTS_H_
#define SIGHTLINE_TOOLS_CONFORM_REPORTS_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "tools/conform/suites.h"

namespace sightline::conform {

/// One line of reports.jsonl: a fault reported of other software, as a runnable case.
struct Report {
  std::string name;      // "cases/R1-01"
  nlohmann::json given;  // its "case"
  nlohmann::json expected;
  std::filesystem::path conformance;  // the conformance set beside the file; some cases need a tokenizer or model of it
};

/// How a kind of case is run: on each attention engine, or once, or as several cases of its own. A kind may be run in
/// more than one way, each a case named after the report and its variant.
struct ReportKind {
  const char* kind;
  void (*on_engine)(const Report&, const Engine&) = nullptr;
  void (*once)(const Report&) = nullptr;
  void (*several)(Context&, const Report&) = nullptr;
  const char* variant = "";
};

/// The kinds of each domain.
std::span<const ReportKind> attention_kinds();
std::span<const ReportKind> position_kinds();
std::span<const ReportKind> backward_kinds();
std::span<const ReportKind> cache_kinds();
std::span<const ReportKind> state_kinds();
std::span<const ReportKind> tokenizer_kinds();
std::span<const ReportKind> format_kinds();
std::span<const ReportKind> model_kinds();
std::span<const ReportKind> tiny_model_kinds();
std::span<const ReportKind> generation_kinds();

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_REPORTS_H_
