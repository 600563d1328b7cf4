#include "cli/option_groups.h"

namespace sightline::cli {
namespace {

void add_sampling_options(CLI::App& command, Options& options) {
  command.add_option("--temp", options.temperature, "Temperature (default: 0, always the likeliest token)")
      ->type_name("T");
  command.add_option("--top-k", options.top_k, "Only the K likeliest tokens (default: 0, all)")->type_name("K");
  command.add_option("--top-p", options.top_p, "The likeliest that have P together (default: 1)")->type_name("P");
  command.add_option("--min-p", options.min_p, "Only those with P of the likeliest's (default: 0)")->type_name("P");
  command.add_option("--repeat-penalty", options.repeat_penalty, "Weaken tokens seen lately (default: 1, not)")
      ->type_name("R");
  command.add_option("--repeat-last-n", options.repeat_last, "How many are lately: -1 = all (default: 64)")
      ->type_name("N");
  command.add_option("-s,--seed", options.seed, "Seed of what is sampled (default: -1, a fresh one)")->type_name("N");
}

void add_generation_options(CLI::App& command, Options& options) {
  command.add_option("-n,--n-predict", options.max_tokens, "New tokens at most (default: -1, to the text's end)")
      ->type_name("N");
  command.add_option("--stop", options.stop_texts, "End where this text comes; may be given again")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command.add_flag("--special", options.special, "Take spellings of special tokens in the prompt\nfor those tokens");
  add_cache_options(command, options);
  command
      .add_option("--drop", options.drop,
                  "Keep N keys a head: window,keep=N or\n"
                  "sinks+window,keep=N[,sinks=S] or\n"
                  "mass,keep=N[,recent=M] (docs/generate.md)")
      ->type_name("RULE");
  command.add_flag("--audit", options.audit, "Tell what is lost by it: keep evicted keys aside");
}

}  // namespace

void add_generate(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("generate", "Let a decoder write on (docs/generate.md)");
  command.add_option("-p,--prompt", options.text, "What to go on from; without it, or as -, standard input")
      ->type_name("TEXT");
  command.add_option("-f,--file", options.file, "Read it from a file")->type_name("FILE");
  command.add_flag("--chat", options.chat, "A conversation: each line is a message");
  CLI::Option* system = command.add_option("--system", options.system, "With --chat, the system prompt");
  system->type_name("TEXT");
  add_prompt_options(command, options);
  add_generation_options(command, options);
  add_sampling_options(command, options);
  add_block_option(command, options);
  command.add_option("--save-state", options.save_state, "Keep text and cache in a file when it ends")
      ->type_name("FILE");
  command.add_option("--load-state", options.load_state, "Go on from such a file, behind it -p or -f if given")
      ->type_name("FILE");
  command.add_option("-o,--output", options.output, "Write the run to a safetensors file, too")->type_name("FILE");
  command.add_flag("--watch", options.watch,
                   "Shade the text by what the newest token looked\n"
                   "at; without a terminal, print a line a token");
  command.add_flag("--json", options.json, "A line of JSON a token, with what it looked at");
  command.add_flag("--segments", options.segment_table, "End with a table: which segments the text looked at");
  command.add_option("--layer", options.layer, "Only this layer's maps in these three")->type_name("L");
  command.add_option("--head", options.head, "Only this head's")->type_name("H");
  add_top_option(command, options, "Keys a map there and in -o (default: 4; 0 to 64)");
  add_colour_option(command, options);
  add_decoder_option(command, options);
  add_loading_options(command, options);
  add_context_option(command, options, "Tokens of prompt and text (default: 4096 at most)");
  add_threads_option(command, options);
  command.footer("Example:\n  ./sightline generate -m model.gguf -p \"The capital of France is\" -n 20");
}

}  // namespace sightline::cli
