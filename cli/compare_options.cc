#include "cli/option_groups.h"

namespace sightline::cli {

void add_compare(CLI::App& app, Options& options) {
  CLI::App& command =
      *app.add_subcommand("compare", "Show which heads' rows differ between two texts (docs/compare.md)");
  command.add_option("TEXT_A", options.text, "The first text, in quotes; - is standard input")->type_name("");
  command.add_option("TEXT_B", options.compare.other, "The second, likewise")->type_name("");
  command
      .add_option("-f,--file", options.compare.files,
                  "Read a text from a file instead; may be given twice\n(after a text that is given it is the second)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_flag("--truncate", options.truncate, "Cut a text that is longer than the model takes");
  command.add_flag("--special", options.special, "Take spellings of special tokens in the texts\nfor those tokens");
  command
      .add_option("--token", options.token,
                  "Rank the heads by this word's row, and show it in both\n(default: the rows of all words)")
      ->type_name("WORD");
  command
      .add_option("--on", options.compare.named,
                  "Tell the weights on this word, and rank heads by their\nshift; may be given again")
      ->type_name("WORD")
      ->allow_extra_args(false);
  command
      .add_option("--by", options.compare.by,
                  "Rank by divergence or by shift of the words (default:\nshift for --token with --on)")
      ->type_name("MEASURE")
      ->check(CLI::IsMember({"divergence", "shift"}).description(""));
  command.add_option("--layer", options.layer, "Compare the heads of this layer alone, from 1")->type_name("L");
  command.add_option("--head", options.head, "This head alone, of the layer or of all, from 1")->type_name("H");
  add_top_option(command, options,
                 "List N rows (default: 10), all weights of the first 3;\nwith --json all weights of N");
  command.add_flag("--pieces", options.pieces, "Tokens as the model reads them, not words");
  command.add_flag("--json", options.json, "Print JSON (docs/report.md)");
  command.add_option("-o,--output", options.output, "Draw the listed rows, too (.png, .svg)")->type_name("FILE");
  add_colour_option(command, options);
  add_model_options(command, options);
  command.footer(
      "Words are aligned by their text; words that replace one another are a pair. A\n"
      "word is named by its text (it), its occurrence (the:2) or its number (#9); A:it\n"
      "and B:it name it in the first or the second text.\n"
      "\nExample:\n  ./sightline compare \"The animal didn't cross the street because it was too tired.\" \\\n"
      "    \"The animal didn't cross the street because it was too wide.\" \\\n"
      "    --token it --on animal --on street");
}

}  // namespace sightline::cli
