#include "cli/option_groups.h"

namespace sightline::cli {

void add_heads(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("heads", "Say what roles the heads of a model have");
  add_model_options(command, options);
}

}  // namespace sightline::cli
