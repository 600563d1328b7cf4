#include <unistd.h>

#include <optional>

#include "cli/chart.h"
#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/interrupt.h"
#include "cli/output_files.h"
#include "cli/picture_file.h"
#include "cli/streams.h"
#include "cli/study_view.h"
#include "cli/view.h"
#include "src/engine/look.h"
#include "src/engine/study.h"
#include "src/engine/study_report.h"

namespace sightline::cli {
namespace {

using engine::StudyEntry;
using engine::StudyNeed;

void list_studies(const Options& options) {
  if (options.json) return write_output(engine::report_text(engine::study_list_report()));
  Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
  add_study_list(painter, engine::studies());
  write_output(painter.result());
}

void draw(const analysis::Study& study, const Options& options) {
  if (study.charts.empty()) return note_nothing_drawn(options);
  std::string foot = study.settings.empty() ? std::string() : study.settings.front() + "\n";
  if (!study.complete) foot += stopped_note("measurements") + "\n";
  foot += engine::kCaveat;
  draw_output(options, [&](format::Font& font) {
    return draw_charts(study.name + ": " + study.claim, study.charts, foot, font);
  });
}

// The text, if there is one to read: of a study that needs none, standard input only where it is asked for.
std::optional<engine::Prompt> text_of(const StudyEntry& entry, const Options& options) {
  const bool given = options.text || !options.file.empty();
  if (!given && entry.text != StudyNeed::needed) return std::nullopt;
  return engine::Prompt(read_text(options), options.special);
}

}  // namespace

void run_study(const Options& options) {
  if (options.study.name.empty()) {
    if (!options.output.empty()) throw UsageError("-o draws one study: name it, as in study scale -o scale.png");
    return list_studies(options);
  }
  require_picture(options.output, "a study is");
  require_writable({options.output}, {options.file});
  const StudyEntry& entry = engine::find_study(options.study.name);
  const std::optional<engine::Prompt> text = text_of(entry, options);
  std::optional<engine::Session> session;
  if (text || !options.model.empty() || entry.model == StudyNeed::needed) session = open_session(options);

  PassLine progress("measuring:");
  analysis::StudyOptions how;
  how.seed = static_cast<std::uint64_t>(options.seed.value_or(1));
  how.longest = options.study.longest;
  how.repetitions = options.study.repetitions;
  how.threads = options.threads;
  how.progress = &progress;
  const WritingScope until_asked;  // a signal ends the study, not the program: what was measured is shown
  const analysis::Study study =
      session ? session->study(entry, text, how, options.truncate) : engine::run_study(entry, how);
  progress.end();
  const engine::ModelFacts* model = session ? &session->model() : nullptr;
  if (options.json) {
    write_output(engine::report_text(engine::study_report(model, study, how)));
  } else {
    Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
    add_study_view(painter, study, model != nullptr ? model->name : "");
    add_caveat(painter);
    write_output(painter.result());
  }
  draw(study, options);
  check_interrupt();
}

}  // namespace sightline::cli
