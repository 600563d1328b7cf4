#include <fmt/core.h>
#include <unistd.h>

#include "cli/cache_options.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/lines_command.h"
#include "cli/prompt_input.h"
#include "cli/score_view.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/score_report.h"

namespace sightline::cli {
namespace {

engine::ScoreOptions score_options(const Options& options, Progress* progress) {
  engine::ScoreOptions score;
  score.context = options.context;
  score.stride = options.stride;
  score.cache = cache_options(options);
  score.top = options.top.value_or(1);
  score.knock_outs = options.knock_outs;
  score.progress = progress;
  return score;
}

void require_together(const Options& options) {
  require_top(options, 64);
  if (!options.targets.empty() && options.stride > 0) {
    throw UsageError("--stride is of windows, and --target scores text and target at once: leave one of them out");
  }
  if (!options.lines.empty() && !options.jsonl) throw UsageError("--lines scores a text a line: add --jsonl");
  if (!options.lines.empty() && !options.targets.empty()) {
    throw UsageError("--lines scores many texts, and --target goes with one: leave one of them out");
  }
}

// What the command says of a text, whole or as far as it came.
template <class Scored>
void show(const engine::Session& session, const Scored& scored, const engine::ScoreOptions& how, const Options& options,
          void (*add_view)(Painter&, const Scored&, const Options&)) {
  for (const std::string& note : engine::knock_out_notes(scored.knock_outs, /*causal=*/true)) write_note(note);
  if (options.json) {
    write_output(engine::report_text(engine::score_report(session.model(), scored, how, options.top.value_or(0))));
  } else {
    Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
    add_view(painter, scored, options);
    write_output(painter.result());
  }
  check_interrupt();
}

}  // namespace

void run_score(const Options& options) {
  require_together(options);
  if (!options.lines.empty()) {
    require_lines_alone(options);
    return print_lines(options, "scored", [&](const engine::Session& session, const std::string& text) {
      const engine::ScoreOptions how = score_options(options, nullptr);
      const engine::Score score = session.score({text, options.special}, how);
      return engine::report_text(engine::score_report(session.model(), score, how, options.top.value_or(0)));
    });
  }
  PassLine progress("scoring:");
  const engine::ScoreOptions how = score_options(options, &progress);
  const PromptInput input = read_prompt(options);
  const engine::Session session = open_session(options);
  const engine::Prompt prompt = prompt_of(input, options, session, !options.targets.empty());
  const WritingScope until_asked;  // a signal ends the scoring, not the program: what is done is shown
  if (options.targets.empty()) {
    const engine::Score score = session.score(prompt, how);
    progress.end();
    show(session, score, how, options, add_score_view);
  } else {
    const engine::TargetScores scores = session.score_targets(prompt, options.targets, how);
    progress.end();
    show(session, scores, how, options, add_target_view);
  }
}

}  // namespace sightline::cli
