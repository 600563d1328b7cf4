#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "sightline/error.h"
#include "tools/conform/suites.h"

namespace {

constexpr const char* kAbout =
    "Compares Sightline with the expected values in files: attention cases, models, tokenizers, reported faults.\n"
    "Reads whatever is in the directories, prints a line for each case that fails and the reason for each that is "
    "skipped,\n"
    "and ends with `N passed, N failed, N skipped`. Exits with 0 if none failed.";
constexpr const char* kExample =
    "Example: sightline-conform tests/data --filter attention/grid/causal\n"
    "The weights of all-MiniLM-L6-v2 are looked for in the directory that SIGHTLINE_MINILM names, else in\n"
    "$XDG_CACHE_HOME/sightline/all-MiniLM-L6-v2. SIGHTLINE_TARGET restricts the SIMD targets, which are all tried "
    "otherwise.";

}  // namespace

int main(int argc, char** argv) {
  using namespace sightline;
  CLI::App app{kAbout, "sightline-conform"};
  app.footer(kExample);
  std::vector<std::string> directories;
  conform::RecorderOptions options;
  bool reference = false;
  app.add_option("DIR", directories, "directories with cases, such as tests/data")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--filter", options.filter, "run only the cases whose name contains this")->option_text("TEXT");
  app.add_flag("--list", options.list, "print the names of the cases and run none");
  app.add_flag("-v,--verbose", options.verbose, "a line for each case");
  app.add_flag("--reference", reference, "run attention cases on the plain fp64 loops instead of the kernels");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "sightline-conform: %s; see sightline-conform --help\n", error.what());
    return 2;
  }
  try {
    conform::Recorder recorder(options, std::cout);
    conform::Context context{recorder,
                             reference ? std::vector{conform::reference_engine()} : conform::kernel_engines()};
    for (const std::string& directory : directories) {
      if (conform::run_directory(context, directory)) continue;
      throw BadArgument(directory + ": no cases here: neither an index.json nor a reports.jsonl");
    }
    return recorder.finish() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sightline-conform: %s\n", error.what());
    return 1;
  }
}
