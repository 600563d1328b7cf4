#ifndef SIGHTLINE_CLI_OUTPUT_FILES_H_
#define SIGHTLINE_CLI_OUTPUT_FILES_H_

#include <string>
#include <vector>

namespace sightline::cli {

/// For before a long run, of which nothing should be lost: throws BadFile where one of the files cannot be written, and
/// UsageError where two that are written are one, or one would take the place of a file that is read. Empty names are
/// none. What stands there is left as it is.
void require_writable(const std::vector<std::string>& written, const std::vector<std::string>& read = {});

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_OUTPUT_FILES_H_
