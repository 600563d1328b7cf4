#include "cli/lines_command.h"

#include <fmt/core.h>

#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/report.h"

namespace sightline::cli {
namespace {

// A line of output is whole, or it is not there: a signal waits for its end.
void write_line(const std::string& line) {
  const WritingScope writing;
  write_output(line);
  check_interrupt();
}

// A report with "line" before its own fields.
std::string numbered(std::size_t line, const std::string& report) {
  return fmt::format("{{\"line\":{},{}", line, std::string_view(report).substr(1));
}

std::string report_of(const engine::Session& session, const NumberedText& text, const Options& options) {
  const engine::Look look = session.look(text.text, look_options(options, options.top));
  engine::ReportOptions report;
  if (options.layer || options.head) report.maps = chosen_maps(look, options);
  report.special = !options.no_special;
  return numbered(text.line, engine::report_text(engine::build_report(look, report)));
}

std::string error_of(std::size_t line, const Error& error) {
  return engine::report_text({{"line", line}, {"error", error.what()}});
}

}  // namespace

void require_lines_alone(const Options& options) {
  const auto refuse = [](bool given, const char* what) {
    if (given) throw UsageError(fmt::format("--lines looks at many texts: leave {} out", what));
  };
  refuse(options.text.has_value(), "TEXT");
  refuse(!options.file.empty(), "--file");
  refuse(!options.messages.empty(), "--messages");
  refuse(!options.segments.empty(), "--segment");
  refuse(options.markers, "--markers");
  refuse(!options.token.empty(), "--token");
  refuse(options.json, "--json");
  refuse(!options.output.empty(), "--output");
  refuse(!options.rows.empty(), "--rows");
  refuse(!options.keys.empty(), "--keys");
}

void report_lines(const Options& options) {
  require_lines_alone(options);
  if (!options.html.empty()) throw UsageError("--jsonl and --html were both given: leave one of them out");
  LineReader lines(options.lines);
  const engine::Session session = open_session(options);
  std::size_t texts = 0, failed = 0;
  for (NumberedText text; lines.next(text); ++texts) {
    std::string report;
    try {
      report = report_of(session, text, options);
    } catch (const Error& error) {
      ++failed;
      write_line(error_of(text.line, error));
      if (options.keep_going) continue;
      throw BadArgument(
          fmt::format("{}, line {}: {} (--keep-going goes on with the next)", options.lines, text.line, error.what()));
    }
    write_line(report);
  }
  if (texts == 0) throw BadArgument(fmt::format("{}: has no text: write one a line", options.lines));
  if (failed > 0) {
    throw BadArgument(
        fmt::format("{} of {} texts could not be looked at: what is printed for their lines says why", failed, texts));
  }
}

}  // namespace sightline::cli
