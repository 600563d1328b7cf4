#ifndef SIGHTLINE_CLI_OPTIONS_H_
#define SIGHTLINE_CLI_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/compare_choices.h"
#include "cli/heads_choices.h"
#include "cli/study_choices.h"
#include "cli/terminal.h"
#include "cli/why_choices.h"
#include "sightline/error.h"

namespace sightline::cli {

/// Arguments that do not go together: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// What `bench` measures, as llama-bench's options have it.
struct BenchSizes {
  std::int64_t prompt = 512, generated = 128, depth = 0;  // tokens
  int repetitions = 5;
  bool watch = false;
};

/// What the command line asks for. A command reads the fields that it has options for.
struct Options {
  std::optional<std::string> text;  // "-" = standard input
  std::string file;                 // read the text from here
  std::string model;                // as engine::find_model() takes it; empty = the default one
  std::int64_t context = 0;         // longest text in tokens; 0 = what the model takes
  bool strict = false;              // warnings of the model's files are errors
  int threads = 0;
  bool truncate = false;

  std::optional<int> layer, head;  // from 1
  std::string token;
  std::optional<int> top;
  std::vector<std::string> knock_outs;  // FROM->TO[@MAPS]
  bool pieces = false;
  bool no_special = false;
  std::string rows, keys;  // items of the map as "A:B", from 1; empty = what there is room for
  bool heads = false;      // every head of a model with many
  bool special = false;    // spellings of special tokens in the text are those tokens
  bool ids = false;
  std::string decode;  // ids between commas
  std::string pre;     // how a GGUF file's tokenizer finds words; empty = as it says
  bool no_scale = false;
  bool all = false;

  std::string host;  // empty = 127.0.0.1
  int port = 0;      // 0 = one that is free
  bool open = false;
  std::string api_key;
  std::vector<std::string> allowed_hosts;
  std::string max_text, memory;  // sizes as "64M"; empty = the default
  int queue = 16;
  int max_seconds = 300;
  std::vector<int> keep_layers;  // from 1; empty = all

  std::optional<std::int64_t> max_tokens;  // new ones; -1 = until the text ends
  std::optional<std::int64_t> seed;        // -1 = a fresh one
  double temperature = 0, top_p = 1, min_p = 0, repeat_penalty = 1;
  std::int64_t top_k = 0, repeat_last = 64;
  std::string key_type, value_type;     // of the cache, as -ctk spells them; empty = f32
  std::string drop;                     // rule by which keys go; empty = none do
  bool audit = false;                   // tell what is lost by it
  std::vector<std::string> stop_texts;  // a generation ends at these

  std::string messages;               // a conversation, in this file; "-" = standard input
  std::string chat_template;          // a name of the model's, or a file
  std::string tools;                  // what a conversation's model may call, in this file
  std::vector<std::string> segments;  // NAME=FILE: where its text stands in the prompt
  bool markers = false;               // [[name]] and [[/name]] in the prompt mark segments
  bool segment_table = false;         // say in the end where the answer looked
  std::vector<std::string> targets;   // what may come after the text
  std::int64_t stride = 0;            // tokens between the starts of windows; 0 = half the context
  bool tokens = false;                // a line a token
  BenchSizes bench;
  bool watch = false;                 // show what each token looked at as it comes
  bool chat = false;                  // a conversation, a message a line
  std::optional<std::string> system;  // its first message

  CompareChoices compare;
  HeadsChoices roles;
  WhyChoices why;
  StudyChoices study;

  bool json = false;
  std::string output;
  std::string html;               // write the page as one file here
  bool html_exact = false;        // with fp32
  double html_max = 20;           // MB
  std::string lines;              // a text a line, all of them into that page, or a report each
  bool jsonl = false;             // reports of --lines
  bool keep_going = false;        // after a text that cannot be looked at
  std::vector<std::string> save;  // tensors of the pass for the file of -o
  std::string source;             // what import reads; it writes to `output`
  std::string tokenizer;          // of a llama2.c checkpoint
  ColourChoice colour = ColourChoice::automatic;
  std::string save_state, load_state;  // files of a generation's state
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_OPTIONS_H_
