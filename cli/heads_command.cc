#include "cli/commands.h"

namespace sightline::cli {

void run_heads(const Options&) { throw UsageError("heads is being built"); }

}  // namespace sightline::cli
