#include <fmt/core.h>

#include "cli/chat_command.h"
#include "cli/commands.h"
#include "cli/generate_files.h"
#include "cli/generation_run.h"
#include "cli/interrupt.h"
#include "cli/output_files.h"
#include "cli/prompt_input.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

void require_options(const Options& options) {
  if (options.json && options.watch) throw UsageError("--json and --watch were both given: leave one of them out");
  if (options.json && options.segment_table) {
    throw UsageError("--json and --segments were both given: the last line of --json has what the table says");
  }
  const auto refuse = [&](bool given, const char* what, const char* third) {
    if (!given) return;
    throw UsageError(fmt::format("{} says what --json, --watch or {} shows: add one of them", what, third));
  };
  const bool shown = options.json || options.watch;
  refuse(options.layer && !shown && !options.segment_table, "--layer", "--segments");
  refuse(options.head && !shown && !options.segment_table, "--head", "--segments");
  refuse(options.top && !shown && options.output.empty(), "--top", "-o");
  if (options.top.value_or(0) < 0 || options.top.value_or(0) > 64) {
    throw UsageError(fmt::format("--top is {}: it can be 0 to 64", *options.top));
  }
  if (options.system && !options.chat) throw UsageError("--system is about a conversation: add --chat");
}

}  // namespace

void run_generate(const Options& options) {
  require_options(options);
  if (options.chat) return run_chat(options);
  PromptProgress progress;
  model::GenerationOptions how = generation_options(options, progress);
  require_states_together(options);
  std::optional<PromptInput> input;
  if (!goes_on_alone(options)) input = read_prompt(options);
  take_state_settings(options, how);
  require_writable({options.save_state, options.output});
  const engine::Session session = open_session(options);
  engine::require_maps(session.model(), {options.layer, options.head});
  const WritingScope until_asked;  // a signal ends the text, not the program: what there is stays whole
  std::optional<engine::Prompt> prompt;
  if (input) prompt = prompt_of(*input, options, session, /*answering=*/true);
  if (!options.output.empty()) {
    session.require_run_memory(how, prompt ? engine::segment_count(prompt->segments) : engine::kFixedSegments);
  }
  engine::PromptedGeneration prompted = begin_generation(session, options, prompt, how);
  if (options.temperature > 0) write_note(fmt::format("seed {}", how.sampling.seed));
  for (const std::string& note : engine::knock_out_notes(prompted.knock_outs, /*causal=*/true)) write_note(note);
  RunRecord record(options, session.model(), prompted, how);
  const auto output = make_generation_output(options, session.model(), prompted, record);
  progress.show_on(*output);
  try {
    stream(prompted.generation, *output, record, progress, !options.save_state.empty());
  } catch (const BadFile&) {  // of the model or the output: nothing goes on from there
    throw;
  } catch (...) {
    save_state(session, options, prompted);
    throw;
  }
  save_state(session, options, prompted);
}

}  // namespace sightline::cli
