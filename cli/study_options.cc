#include "cli/option_groups.h"

namespace sightline::cli {

void add_study(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("study", "Measure a claim about attention");
  add_model_options(command, options);
}

}  // namespace sightline::cli
