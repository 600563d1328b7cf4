#ifndef SIGHTLINE_CLI_COMMANDS_H_
#define SIGHTLINE_CLI_COMMANDS_H_

#include "cli/options.h"

namespace sightline::cli {

// One a command of the program. They throw Error, and write to standard output once they have everything to say.
void run_look(const Options& options);
void run_explain(const Options& options);
void run_map(const Options& options);
void run_info(const Options& options);
void run_tokens(const Options& options);
void run_models(const Options& options);
void run_pull(const Options& options);      // these two become a program of tools/
void run_import(const Options& options);    // and end as it ends
void run_generate(const Options& options);  // this one writes as the text comes
void run_score(const Options& options);
void run_bench(const Options& options);
void run_compare(const Options& options);
void run_heads(const Options& options);
void run_why(const Options& options);
void run_study(const Options& options);
void run_serve(const Options& options);  // answers until a signal comes

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_COMMANDS_H_
