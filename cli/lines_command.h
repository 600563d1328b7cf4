#ifndef SIGHTLINE_CLI_LINES_COMMAND_H_
#define SIGHTLINE_CLI_LINES_COMMAND_H_

#include <functional>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "src/engine/session.h"

namespace sightline::cli {

/// What is printed of a text: JSON, ending in a newline.
using LineReport = std::function<std::string(const engine::Session& session, const std::string& text)>;

/// Of each text of --lines its report, a line of JSON on standard output as soon as it is done, with the number of its
/// line in the file; of a text that has none an error in its place, after which it ends, or with --keep-going goes on.
/// Throws Error at the end where there was any. `done`: what is done with texts, "looked at".
void print_lines(const Options& options, std::string_view done, const LineReport& report_of_text);

/// The command `look --lines FILE --jsonl`.
void report_lines(const Options& options);

/// Refuses options that go with one text alone, with UsageError.
void require_lines_alone(const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_LINES_COMMAND_H_
