#include "cli/option_groups.h"

namespace sightline::cli {

void add_score(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("score", "Say how likely a decoder finds a text (docs/score.md)");
  command.add_option("TEXT", options.text, "The text, in quotes; without it, or as -, standard input")->type_name("");
  command.add_option("-f,--file", options.file, "Read the text from a file, of any length")->type_name("FILE");
  command
      .add_option("--target", options.targets,
                  "Score this as what comes after the text; may be\n"
                  "given again, and they are ranked")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  add_top_option(command, options, "List the N likeliest tokens at each place (1 to 64)");
  command.add_flag("--tokens", options.tokens, "A line a token, also of a text over 1024 tokens");
  command.add_flag("--special", options.special, "Take spellings of special tokens in the text\nfor those tokens");
  add_prompt_options(command, options);
  add_block_option(command, options);
  command.add_option("--stride", options.stride, "Tokens between windows' starts (default: -c / 2)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""));
  add_cache_options(command, options);
  command.add_flag("--json", options.json, "Print JSON (docs/report.md)");
  CLI::Option* lines = command.add_option("--lines", options.lines, "A file with a text a line, and");
  lines->type_name("FILE");
  command.add_flag("--jsonl", options.jsonl, "print JSON of each, as soon as it is done")->needs(lines);
  command.add_flag("--keep-going", options.keep_going, "Go on after a text that cannot be scored")->needs("--jsonl");
  add_colour_option(command, options);
  add_decoder_option(command, options);
  add_loading_options(command, options);
  add_context_option(command, options, "Tokens that are seen at once (default: 4096 at most)");
  add_threads_option(command, options);
  command.footer(
      "Example:\n  ./sightline score -m model.gguf \"The capital of France is\" --target \" Paris\" --target \" "
      "Rome\"");
}

}  // namespace sightline::cli
