#include "cli/option_groups.h"

#include <fmt/core.h>

#include <map>

namespace sightline::cli {

void add_text_options(CLI::App& command, Options& options) {
  command.add_option("TEXT", options.text, "The text, in quotes; without it, or as -, standard input")->type_name("");
  command.add_option("-f,--file", options.file, "Read the text from a file")->type_name("FILE");
  command.add_flag("--truncate", options.truncate, "Cut a text that is longer than the model takes");
}

void add_block_option(CLI::App& command, Options& options) {
  command
      .add_option("--block", options.knock_outs,
                  "Hide words from words, as it->street@L4H2\n(docs/knockout.md); may be given again")
      ->type_name("EDGES")
      ->allow_extra_args(false);
}

void add_loading_options(CLI::App& command, Options& options) {
  command.add_option("--pre", options.pre, "Pre-tokenizer of a GGUF file, instead of its own")->type_name("NAME");
  command.add_flag("--strict", options.strict, "Refuse a model whose files have anything left over");
}

void add_model_option(CLI::App& command, Options& options) {
  command
      .add_option("-m,--model", options.model,
                  "Directory, .gguf file, a pulled model's NAME, or\nORG/NAME in the Hugging Face cache (default:\n"
                  "all-MiniLM-L6-v2)")
      ->type_name("MODEL");
}

void add_decoder_option(CLI::App& command, Options& options) {
  add_model_option(command, options);
  CLI::Option* model = command.get_option("--model")->required();
  model->description("Directory, .gguf file, a pulled model's NAME, or\nORG/NAME in the Hugging Face cache");
}

void add_cache_options(CLI::App& command, Options& options) {
  command
      .add_option("--cache-type-k", options.key_type,
                  "Keys are kept as f32, f16, bf16, q8_0 or q4_1\n"
                  "(-ctk; default: f32)")
      ->type_name("TYPE");
  command.add_option("--cache-type-v", options.value_type, "Values, likewise (-ctv)")->type_name("TYPE");
}

void add_context_option(CLI::App& command, Options& options, const std::string& description) {
  command.add_option("-c,--ctx-size", options.context, description)
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30).description(""));
}

void add_threads_option(CLI::App& command, Options& options) {
  command.add_option("-t,--threads", options.threads, "Threads (default: one a processor); they change no bit")
      ->type_name("N")
      ->check(CLI::Range(1, 4096).description(""));
}

void add_model_options(CLI::App& command, Options& options) {
  add_model_option(command, options);
  add_loading_options(command, options);
  command.add_option("-c,--context", options.context, "Longest text in tokens (default: the model's)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""));
  add_threads_option(command, options);
}

void add_top_option(CLI::App& command, Options& options, const std::string& description) {
  command.add_option("--top", options.top, description)->type_name("N");
}

void add_seed_option(CLI::App& command, Options& options, int usual) {
  command.add_option("--seed", options.seed, fmt::format("Seed of what is drawn (default: {})", usual))
      ->type_name("N")
      ->check(CLI::NonNegativeNumber.description(""));
}

void add_prompt_options(CLI::App& command, Options& options) {
  command.add_option("--messages", options.messages, "Read a conversation, as JSON (docs/chat.md)")->type_name("FILE");
  command
      .add_option("--chat-template", options.chat_template,
                  "The template for it: a name of the model's, or a file\n"
                  "(default: the model's own)")
      ->type_name("NAME");
  command.add_option("--tools", options.tools, "Tools that it may call, a JSON list")->type_name("FILE");
  command
      .add_option("--segment", options.segments,
                  "NAME=FILE: call so what stands in the prompt as in\n"
                  "the file; may be given again")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command.add_flag("--markers", options.markers, "[[name]] and [[/name]] in the prompt mark segments");
}

void add_colour_option(CLI::App& command, Options& options) {
  const auto choose = [&options](const std::string& when) {
    static const std::map<std::string, ColourChoice> kChoices = {
        {"auto", ColourChoice::automatic}, {"always", ColourChoice::always}, {"never", ColourChoice::never}};
    const auto found = kChoices.find(when);
    if (found == kChoices.end()) throw CLI::ValidationError("--color", "it is auto, always or never, not " + when);
    options.colour = found->second;
  };
  command.add_option_function<std::string>("--color", choose, "auto, always or never (default: auto)")
      ->type_name("WHEN");
}

}  // namespace sightline::cli
