#include <fmt/core.h>

#include "cli/chat_command.h"
#include "cli/commands.h"
#include "cli/generation_run.h"
#include "cli/interrupt.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

void require_options(const Options& options) {
  if (options.json && options.watch) throw UsageError("--json and --watch were both given: leave one of them out");
  const auto refuse = [&](bool given, const char* what) {
    if (given && !options.json && !options.watch) {
      throw UsageError(fmt::format("{} says what --json or --watch shows: add one of them", what));
    }
  };
  refuse(options.layer.has_value(), "--layer");
  refuse(options.head.has_value(), "--head");
  refuse(options.top.has_value(), "--top");
  if (options.top.value_or(0) < 0 || options.top.value_or(0) > 64) {
    throw UsageError(fmt::format("--top is {}: it can be 0 to 64", *options.top));
  }
  const auto refuse_alone = [&](bool given, const char* what) {
    if (given && !options.chat) throw UsageError(fmt::format("{} is about a conversation: add --chat", what));
  };
  refuse_alone(options.system.has_value(), "--system");
  refuse_alone(!options.messages.empty(), "--messages");
  refuse_alone(!options.chat_template.empty(), "--chat-template");
}

}  // namespace

void run_generate(const Options& options) {
  require_options(options);
  if (options.chat) return run_chat(options);
  PromptProgress progress;
  const model::GenerationOptions how = generation_options(options, progress);
  const engine::Prompt prompt(read_text(options), options.special);
  const engine::Session session = open_session(options);
  engine::require_maps(session.model(), {options.layer, options.head});
  const WritingScope until_asked;  // a signal ends the text, not the program: what there is stays whole
  engine::PromptedGeneration prompted = session.generate(prompt, how);
  if (options.temperature > 0) write_note(fmt::format("seed {}", how.sampling.seed));
  const auto output = make_generation_output(options, session.model(), prompted);
  progress.show_on(*output);
  output->begin(how);
  stream(prompted.generation, *output, progress);
}

}  // namespace sightline::cli
