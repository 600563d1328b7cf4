#ifndef SIGHTLINE_CLI_LINES_COMMAND_H_
#define SIGHTLINE_CLI_LINES_COMMAND_H_

#include "cli/options.h"

namespace sightline::cli {

/// The command `look --lines FILE --jsonl`: of each text its report, a line of JSON on standard output as soon as it is
/// done, with the number of its line in the file; of a text that cannot be looked at an error in its place, after which
/// it ends, or with --keep-going goes on. Throws Error at the end where there was any.
void report_lines(const Options& options);

/// Refuses options that go with one text alone, with UsageError.
void require_lines_alone(const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_LINES_COMMAND_H_
