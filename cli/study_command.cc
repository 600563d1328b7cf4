#include "cli/commands.h"

namespace sightline::cli {

void run_study(const Options&) { throw UsageError("study is being built"); }

}  // namespace sightline::cli
