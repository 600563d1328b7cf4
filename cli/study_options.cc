#include "cli/option_groups.h"

namespace sightline::cli {

void add_study(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("study", "Measure a claim about attention (docs/study.md)");
  command.add_option("NAME", options.study.name, "Which one; without it, they are listed")->type_name("");
  command.add_option("TEXT", options.text, "A text to measure a model on, in quotes; as -, standard\ninput")
      ->type_name("");
  command.add_option("-f,--file", options.file, "Read the text from a file")->type_name("FILE");
  command.add_flag("--truncate", options.truncate, "Cut a text that is longer than the model takes");
  command.add_flag("--special", options.special, "Take spellings of special tokens in the text\nfor those tokens");
  command.add_option("--max", options.study.longest, "Longest length that is measured, in tokens")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""));
  command.add_option("-r,--repetitions", options.study.repetitions, "Runs of what is timed; the fastest counts")
      ->type_name("N")
      ->check(CLI::Range(1, 10000).description(""));
  add_seed_option(command, options, 1);
  command.add_flag("--json", options.json, "Print JSON (docs/report.md)");
  command.add_option("-o,--output", options.output, "Draw it, too (.png, .svg)")->type_name("FILE");
  add_colour_option(command, options);
  add_model_options(command, options);
  command.get_option("--model")->description(
      "Directory, .gguf file, a pulled model's NAME, or\nORG/NAME in the Hugging Face cache (default:\n"
      "none, or where one is needed all-MiniLM-L6-v2)");
  command.footer("Example:\n  ./sightline study scale -o scale.png");
}

}  // namespace sightline::cli
