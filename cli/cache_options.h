#ifndef SIGHTLINE_CLI_CACHE_OPTIONS_H_
#define SIGHTLINE_CLI_CACHE_OPTIONS_H_

#include "cli/options.h"
#include "sightline/context.h"

namespace sightline::cli {

/// How -ctk and -ctv ask for keys and values to be kept. Throws UsageError.
model::ContextOptions cache_options(const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_CACHE_OPTIONS_H_
