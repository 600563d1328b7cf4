#include "cli/option_groups.h"

namespace sightline::cli {

void add_bench(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("bench", "Measure how fast a decoder is here");
  BenchSizes& sizes = options.bench;
  const auto tokens = [&command](const char* name, std::int64_t& to, const char* description) {
    command.add_option(name, to, description)
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30).description(""));
  };
  tokens("-p,--n-prompt", sizes.prompt, "Tokens read at once (default: 512; 0: none)");
  tokens("-n,--n-gen", sizes.generated, "Tokens one by one (default: 128; 0: none)");
  tokens("-d,--n-depth", sizes.depth, "Tokens that stand before them (default: 0)");
  command.add_option("-r,--repetitions", sizes.repetitions, "Runs of each (default: 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 10000).description(""));
  command.add_flag("--watch", sizes.watch, "Also with all observed that generate --json writes");
  add_cache_options(command, options);
  command.add_flag("--json", options.json, "Print JSON, with every run (docs/report.md)");
  add_colour_option(command, options);
  add_decoder_option(command, options);
  add_loading_options(command, options);
  add_threads_option(command, options);
  command.footer("Example:\n  ./sightline bench -m model.gguf -t 2");
}

}  // namespace sightline::cli
