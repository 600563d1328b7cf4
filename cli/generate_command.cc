#include <fmt/core.h>
#include <unistd.h>

#include <random>

#include "cli/answer_table.h"
#include "cli/cache_options.h"
#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/generate_files.h"
#include "cli/interrupt.h"
#include "cli/prompt_input.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/generation_file.h"
#include "src/engine/generation_report.h"
#include "src/ops/sampling.h"

namespace sightline::cli {
namespace {

model::DropRule drop_rule(const Options& options) {
  if (options.audit && options.drop.empty()) {
    throw UsageError("--audit tells what --drop loses: name a rule with --drop");
  }
  if (options.drop.empty()) return {};
  try {
    return model::parse_drop_rule(options.drop);
  } catch (const BadArgument& error) {
    throw UsageError(fmt::format("--drop {}: {}", options.drop, error.what()));
  }
}

std::uint64_t chosen_seed(const Options& options) {
  const std::int64_t seed = options.seed.value_or(-1);
  if (seed < -1) throw UsageError(fmt::format("--seed is {}: it can be -1, 0 or more", seed));
  return seed == -1 ? std::random_device{}() : static_cast<std::uint64_t>(seed);
}

model::GenerationOptions generation_options(const Options& options, Progress& progress) {
  model::GenerationOptions generation;
  generation.max_tokens = options.max_tokens.value_or(-1);
  generation.context = options.context;
  generation.cache = cache_options(options);
  generation.cache.drop = drop_rule(options);
  generation.audit = options.audit;
  generation.sampling = {
      options.temperature, options.top_k, options.top_p, options.min_p, options.repeat_penalty, options.repeat_last, 0};
  ops::require_sampling(generation.sampling);
  if (options.temperature > 0) generation.sampling.seed = chosen_seed(options);
  generation.stop_texts = options.stop_texts;
  generation.progress = &progress;
  if (options.json || !options.output.empty()) {
    generation.watch = model::WatchOptions{.top = options.top.value_or(4), .key_mass = true};
    generation.log_probability = true;
  } else if (options.segment_table) {
    generation.watch = model::WatchOptions{.top = 0};
  }
  return generation;
}

void require_json_options(const Options& options) {
  const auto refuse = [&](bool given, const char* what) {
    if (given && !options.json) throw UsageError(fmt::format("{} says what --json writes: add --json", what));
  };
  refuse(options.layer.has_value() && !options.segment_table, "--layer");
  refuse(options.head.has_value() && !options.segment_table, "--head");
  if (options.output.empty()) refuse(options.top.has_value(), "--top");
  if (options.json && options.segment_table) {
    throw UsageError("--json and --segments were both given: the last line of --json has what the table says");
  }
  if (options.top.value_or(0) < 0 || options.top.value_or(0) > 64) {
    throw UsageError(fmt::format("--top is {}: it can be 0 to 64", *options.top));
  }
}

// Where a generation goes as it comes: text, or lines of JSON.
class Output {
 public:
  Output(const Options& options, const engine::ModelFacts& model, const engine::PromptedGeneration& prompted,
         const model::GenerationOptions& how)
      : options_(options),
        model_(model),
        prompted_(prompted),
        generation_(prompted.generation),
        answer_(prompted, {options.layer, options.head}),
        how_(how) {}

  void begin() {
    const engine::ReportJson header = engine::generation_json(model_, prompted_, how_);
    if (!options_.output.empty()) file_.emplace(header);
    if (options_.json) write_output(engine::report_text(header));
  }
  void token(const model::GeneratedToken& token) {
    answer_.add(token);
    if (file_) file_->add(token);
    if (!options_.json) return write(token.text);
    const auto position = std::ssize(generation_.prompt().ids) + std::ssize(generation_.tokens()) - 1;
    write_output(engine::report_text(engine::token_json(token, position, {options_.layer, options_.head})));
  }
  /// The text's end: what was held back, and a line's end on a terminal; then the file.
  void end(std::string_view how, const std::string& rest) const {
    const engine::ReportJson last = end_line(how);
    if (options_.json) {
      write_output(engine::report_text(last));
    } else {
      write(rest);
      if (terminal_ && !generation_.text().empty() && !generation_.text().ends_with('\n')) write_output("\n");
      if (options_.segment_table) write_table();
    }
    write_file(last);
    const std::optional<engine::DropSummary> drops = engine::summarise_drops(model_.config, how_, generation_);
    if (!drops) return;
    for (const std::string& note : engine::drop_notes(*drops)) write_note(note);
  }
  /// The file of -o, with what there is.
  void save(std::string_view how) const { write_file(end_line(how)); }

 private:
  engine::ReportJson end_line(std::string_view how) const {
    return engine::end_json(generation_, how, answer_.answer(),
                            engine::summarise_drops(model_.config, how_, generation_));
  }
  void write_file(const engine::ReportJson& last) const {
    if (!file_) return;
    file_->write(options_.output, prompted_, last);
    write_note(fmt::format("wrote {}", options_.output));
  }

 private:
  // A terminal gets lines and tabs, and nothing else that would act on it.
  void write(std::string_view text) const {
    if (!terminal_) return write_output(text);
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of("\n\t", at), text.size());
      shown += displayable(text.substr(at, end - at), utf8_);
      if (end < text.size()) shown += text[end];
      at = end + 1;
    }
    write_output(shown);
  }

  // After the text where somebody reads it, beside it where a pipe takes it.
  void write_table() const {
    Painter painter(detect_terminal(terminal_ ? STDOUT_FILENO : STDERR_FILENO, options_.colour));
    std::vector<std::string> names = prompted_.segments.names;
    names.emplace_back(engine::kGeneratedName);
    const engine::Answer answer = answer_.answer();
    add_answer_table(painter, names, {&answer, 1}, options_);
    if (terminal_) return write_output(painter.result());
    std::fwrite(painter.result().data(), 1, painter.result().size(), stderr);
  }

  const Options& options_;
  const engine::ModelFacts& model_;
  const engine::PromptedGeneration& prompted_;
  const model::Generation& generation_;
  engine::AnswerRecord answer_;
  const model::GenerationOptions& how_;
  std::optional<engine::GenerationFile> file_;
  const bool terminal_ = isatty(STDOUT_FILENO) != 0;
  const bool utf8_ = detect_terminal(STDOUT_FILENO, ColourChoice::never).utf8;
};

// All tokens, until the text ends or a signal comes. Where there are none to come and the state is wanted, the prompt
// alone goes through.
void stream(model::Generation& generation, Output& output, PassLine& progress, bool wants_state) {
  try {
    if (generation.end() && wants_state) generation.read_prompt();
    generation.run([&](const model::GeneratedToken& token) {
      progress.end();
      output.token(token);
      return interrupting_signal() == 0;
    });
  } catch (const Cancelled&) {
    progress.end();
    output.end("cancelled", generation.flush());
    throw Interrupted{interrupting_signal()};
  } catch (const ClosedPipe&) {
    output.save("cancelled");
    throw;
  } catch (const Error&) {
    progress.end();
    output.end(generation.is_full() ? "context full" : "error", generation.flush());
    throw;
  }
  progress.end();
  output.end(end_name(*generation.end()), generation.flush());
  check_interrupt();
}

}  // namespace

void run_generate(const Options& options) {
  require_json_options(options);
  PassLine progress("reading the prompt:");
  model::GenerationOptions how = generation_options(options, progress);
  require_states_together(options);
  std::optional<PromptInput> input;
  if (!goes_on_alone(options)) input = read_prompt(options);
  take_state_settings(options, how);
  require_writable(options);
  const engine::Session session = open_session(options);
  engine::require_maps(session.model(), {options.layer, options.head});
  if (!options.output.empty()) session.require_run_memory(how);
  const WritingScope until_asked;  // a signal ends the text, not the program: what there is stays whole
  std::optional<engine::Prompt> prompt;
  if (input) prompt = prompt_of(*input, options, session, /*answering=*/true);
  engine::PromptedGeneration prompted = begin_generation(session, options, prompt, how);
  if (options.temperature > 0) write_note(fmt::format("seed {}", how.sampling.seed));
  for (const std::string& note : engine::knock_out_notes(prompted.knock_outs, /*causal=*/true)) write_note(note);
  Output output(options, session.model(), prompted, how);
  output.begin();
  try {
    stream(prompted.generation, output, progress, !options.save_state.empty());
  } catch (const BadFile&) {  // of the model or the output: nothing goes on from there
    throw;
  } catch (...) {
    save_state(session, options, prompted);
    throw;
  }
  save_state(session, options, prompted);
}

}  // namespace sightline::cli
