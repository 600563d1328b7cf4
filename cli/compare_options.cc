#include "cli/option_groups.h"

namespace sightline::cli {

void add_compare(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("compare", "Show how a word's row differs between two texts");
  add_model_options(command, options);
}

}  // namespace sightline::cli
