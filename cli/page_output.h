#ifndef SIGHTLINE_CLI_PAGE_OUTPUT_H_
#define SIGHTLINE_CLI_PAGE_OUTPUT_H_

#include <span>

#include "cli/options.h"
#include "src/engine/look.h"

namespace sightline::cli {

/// Writes the page of --html, if it was asked for, and says so on standard error. It shows all maps, or those that
/// --layer and --head name. Throws BadFile, BadArgument.
void save_page(const Options& options, std::span<const engine::Look> looks);

/// The command `look --lines FILE --html FILE`: a page of a text a line; blank lines are none.
void save_page_of_lines(const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_PAGE_OUTPUT_H_
