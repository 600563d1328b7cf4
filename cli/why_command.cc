#include "cli/commands.h"

namespace sightline::cli {

void run_why(const Options&) { throw UsageError("why is being built"); }

}  // namespace sightline::cli
