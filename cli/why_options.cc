#include "cli/option_groups.h"

namespace sightline::cli {

void add_why(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("why", "Set where a word looks beside what depends on it");
  add_model_options(command, options);
}

}  // namespace sightline::cli
