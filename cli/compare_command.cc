#include "cli/commands.h"

namespace sightline::cli {

void run_compare(const Options&) { throw UsageError("compare is being built"); }

}  // namespace sightline::cli
