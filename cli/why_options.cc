#include "cli/option_groups.h"

namespace sightline::cli {

void add_why(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("why", "Set where a word looks beside what changes without it (docs/why.md)");
  add_text_options(command, options);
  command.add_option("--token", options.token, "The word whose row it is about, or word/2, its piece")
      ->type_name("WORD")
      ->required();
  command
      .add_option("--answer", options.why.answers,
                  "What may come after the text, or stand at [MASK];\n"
                  "may be given again (default: what the model finds\n"
                  "likeliest; without an output matrix: the vectors)")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command
      .add_option("--block", options.why.block,
                  "Knock each edge out in all maps, in each layer or each\n"
                  "head by itself, or in MAPS (all, layer, head, L4H2)")
      ->type_name("MAPS");
  command
      .add_option("--edges", options.why.edges,
                  "Words whose edges are knocked out, at most, those with\n"
                  "the largest weights (default: 512)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""));
  command.add_flag("--no-heads", options.why.no_heads, "Do not knock out whole heads");
  command.add_flag("--pieces", options.pieces, "Edges to tokens, not to words");
  command.add_flag("--special", options.special,
                   "Take spellings of special tokens in the text, as [MASK],\nfor those tokens");
  add_prompt_options(command, options);
  add_top_option(command, options, "List the N edges with the largest effects (default: 15)");
  command.add_flag("--json", options.json, "Print JSON (docs/report.md)");
  command.add_option("-o,--output", options.output, "Draw weight beside effect, too (.png, .svg)")->type_name("FILE");
  add_colour_option(command, options);
  add_model_options(command, options);
  command.footer(
      "Example:\n  ./sightline why \"The animal didn't cross the street because it was too tired.\" --token it");
}

}  // namespace sightline::cli
