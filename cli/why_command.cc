#include <unistd.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output_files.h"
#include "cli/picture_file.h"
#include "cli/prompt_input.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "cli/why_picture.h"
#include "cli/why_view.h"
#include "src/engine/why_report.h"

namespace sightline::cli {
namespace {

constexpr int kListed = 15;  // edges, unless --top says otherwise

engine::WhyOptions why_options(const Options& options, Progress* progress) {
  engine::WhyOptions why;
  why.token = options.token;
  why.answers = options.why.answers;
  why.block = options.why.block;
  why.pieces = options.pieces;
  why.truncate = options.truncate;
  why.edges = options.why.edges;
  why.heads = !options.why.no_heads;
  why.progress = progress;
  return why;
}

}  // namespace

void run_why(const Options& options) {
  require_top(options);
  require_picture(options.output, "edges are");
  require_writable({options.output}, {options.file});
  PassLine progress("knocking out:");
  const PromptInput input = read_prompt(options);
  const engine::Session session = open_session(options);
  const engine::Prompt prompt = prompt_of(input, options, session, session.model().config.causal);
  const WritingScope until_asked;  // a signal ends the knock-outs, not the program: what is done is shown
  const engine::Why why = session.why(prompt, why_options(options, &progress));
  progress.end();
  if (options.json) {
    write_output(engine::report_text(engine::why_report(session.model(), why)));
  } else {
    Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
    add_why_view(painter, session.model(), why, options.top.value_or(kListed));
    add_caveat(painter);
    write_output(painter.result());
  }
  draw_output(options, [&](format::Font& font) { return draw_why(session.model(), why, font); });
  check_interrupt();
}

}  // namespace sightline::cli
