#ifndef SIGHTLINE_CLI_OPTION_GROUPS_H_
#define SIGHTLINE_CLI_OPTION_GROUPS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "cli/options.h"

namespace sightline::cli {

// Options that several commands have.
void add_text_options(CLI::App& command, Options& options);
void add_block_option(CLI::App& command, Options& options);
void add_loading_options(CLI::App& command, Options& options);
void add_model_option(CLI::App& command, Options& options);
void add_threads_option(CLI::App& command, Options& options);
void add_model_options(CLI::App& command, Options& options);
void add_top_option(CLI::App& command, Options& options, const std::string& description);
void add_seed_option(CLI::App& command, Options& options, int usual);  // `usual`: where it is not given
void add_colour_option(CLI::App& command, Options& options);
/// Messages in place of a text, and names for parts of what is read.
void add_prompt_options(CLI::App& command, Options& options);
void add_cache_options(CLI::App& command, Options& options);
void add_context_option(CLI::App& command, Options& options, const std::string& description);  // of a decoder
void add_decoder_option(CLI::App& command, Options& options);  // -m, without which nothing can be done

// Commands whose options fill a file of their own.
void add_generate(CLI::App& app, Options& options);
void add_score(CLI::App& app, Options& options);
void add_bench(CLI::App& app, Options& options);
void add_compare(CLI::App& app, Options& options);
void add_heads(CLI::App& app, Options& options);
void add_why(CLI::App& app, Options& options);
void add_study(CLI::App& app, Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_OPTION_GROUPS_H_
