// reports.jsonl: one case a line; its kind decides who runs it.
#include "tools/conform/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "src/format/file.h"
#include "src/format/json.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// Kinds that are not run here: what Sightline does not do yet, and what tests of other programs run.
struct Elsewhere {
  const char* kind;
  const char* reason;
};
constexpr Elsewhere kElsewhere[] = {
    {"stitch_steps", "decoders with cross-attention are not supported yet"},
    {"html_escape", "tested by tests/serve/cases_test.py"},
    {"viewer_tiles", "tested by tests/serve/cases_test.py"},
    {"viewer_offline", "tested by tests/serve/cases_test.py"},
    {"token_labels", "tested by src/tokenizer/display_test.cc"},
};

std::vector<ReportKind> ways_to_run(const std::string& name) {
  std::vector<ReportKind> ways;
  for (const auto kinds : {attention_kinds(), position_kinds(), backward_kinds(), cache_kinds(), state_kinds(),
                           tokenizer_kinds(), format_kinds(), model_kinds(), tiny_model_kinds(), generation_kinds()}) {
    std::copy_if(kinds.begin(), kinds.end(), std::back_inserter(ways),
                 [&](const ReportKind& kind) { return kind.kind == name; });
  }
  return ways;
}

std::string reason_to_skip(const std::string& kind) {
  const auto found = std::find_if(std::begin(kElsewhere), std::end(kElsewhere),
                                  [&](const Elsewhere& row) { return row.kind == kind; });
  return found != std::end(kElsewhere) ? found->reason : fmt::format("cases of kind {} are not read yet", kind);
}

void run_report(Context& context, const Report& report) {
  const std::string name = report.given.at("kind");
  const auto ways = ways_to_run(name);
  if (ways.empty()) return context.recorder.run(report.name, [&] { throw Skipped(reason_to_skip(name)); });
  for (const ReportKind& way : ways) {
    if (way.several != nullptr) {
      way.several(context, report);
      continue;
    }
    context.recorder.run(report.name + way.variant, [&] {
      if (way.once != nullptr) return way.once(report);
      context.on_each_engine([&](const Engine& engine) { way.on_engine(report, engine); });
    });
  }
}

}  // namespace

void run_reports(Context& context, const std::filesystem::path& file, const std::string& prefix) {
  const std::string content = format::read_file(file, std::size_t{64} << 20);
  const auto conformance = file.parent_path().parent_path() / "conformance";
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const json row = format::parse_json(std::string_view(content).substr(begin, end - begin), file.string());
    run_report(context,
               {prefix + "/" + row.at("id").get<std::string>(), row.at("case"), row.at("expected"), conformance});
    begin = end + 1;
  }
}

}  // namespace sightline::conform
