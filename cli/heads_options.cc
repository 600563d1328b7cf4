#include "cli/option_groups.h"

namespace sightline::cli {
namespace {

void add_corpora(CLI::App& command, Options& options) {
  HeadsChoices& roles = options.roles;
  command.add_option("--treebank", roles.treebank, "Relations of a treebank, too: a CoNLL-U file")->type_name("FILE");
  command.add_option("--relations", roles.relations, "These of it alone, as nsubj,obj")
      ->type_name("LIST")
      ->delimiter(',')
      ->needs("--treebank");
  command.add_option("--coref", roles.coreference, "Pronouns and names, too: a file in GAP's format")
      ->type_name("FILE");
  command
      .add_option("-f,--file", options.file,
                  "Ask about places in this text, paragraph by\nparagraph, not in one of Sightline's own")
      ->type_name("FILE");
  command.add_option("--length", roles.length, "Tokens of a generated text (default: 256)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""));
  add_seed_option(command, options, 0);
}

}  // namespace

void add_heads(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("heads", "Say what roles the heads of a model have (docs/heads.md)");
  HeadsChoices& roles = options.roles;
  add_corpora(command, options);
  command.add_flag(
      "--no-holdout", roles.no_holdout,
      "Choose and report on all examples; without it heads\nand baselines are chosen on one half and reported\n"
      "on the other");
  command.add_option("--min", roles.least, "Leave roles out with fewer questions in a half\n(default: 20)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""));
  command.add_option("--layer", options.layer, "Ask the heads of this layer alone, from 1")->type_name("L");
  command.add_option("--head", options.head, "This head alone, of the layer or of all, from 1")->type_name("H");
  add_top_option(command, options, "List the N best heads of each role (default: 1)");
  command.add_flag("--json", options.json, "Print JSON (docs/report.md)");
  command.add_option("--csv", roles.csv, "Write every head's score in every role as a table")->type_name("FILE");
  command.add_option("-o,--output", options.output, "Draw the heads with their roles, too (.png, .svg)")
      ->type_name("FILE");
  add_colour_option(command, options);
  add_model_options(command, options);
  command.footer(
      "Example:\n  ./sightline heads -o heads.png\n"
      "\nWith corpora (docs/corpora.md says where to get them):\n"
      "  ./sightline heads --treebank en_pud-ud-test.conllu --coref gap-development.tsv");
}

}  // namespace sightline::cli
