#include "cli/report_output.h"

#include <fmt/core.h>

#include "cli/interrupt.h"
#include "cli/streams.h"

namespace sightline::cli {

void save_report(const Options& options, const engine::Look& look, const engine::ReportOptions& report,
                 std::span<const engine::Explanation> explanations) {
  if (options.output.empty()) return;
  {
    const WritingScope writing;
    engine::write_report(options.output, look, report, explanations);
    check_interrupt();
  }
  write_note(fmt::format("wrote {}", options.output));
}

}  // namespace sightline::cli
