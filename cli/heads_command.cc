#include <fmt/core.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/heads_picture.h"
#include "cli/heads_view.h"
#include "cli/interrupt.h"
#include "cli/output_files.h"
#include "cli/picture_file.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/heads_report.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

void require_sound(const Options& options) {
  require_top(options);
  require_picture(options.output, "roles of heads are");
  const HeadsChoices& choices = options.roles;
  require_writable({options.output, choices.csv}, {choices.treebank, choices.coreference, options.file});
}

engine::HeadsOptions heads_options(const Options& options, Progress* progress) {
  const HeadsChoices& choices = options.roles;
  engine::HeadsOptions heads;
  heads.holdout = !choices.no_holdout;
  heads.length = choices.length;
  heads.seed = static_cast<std::uint64_t>(options.seed.value_or(0));
  heads.least = choices.least;
  heads.layer = options.layer;
  heads.head = options.head;
  if (!options.file.empty()) heads.text = read_text(options);
  heads.treebank = choices.treebank;
  heads.coreference = choices.coreference;
  heads.relations = choices.relations;
  heads.progress = progress;
  return heads;
}

void write_csv(const std::string& path, const engine::HeadRoles& roles) {
  if (path.empty()) return;
  format::AtomicFile file(path);
  file.write(engine::heads_csv(roles));
  file.commit();
  write_note("wrote " + path);
}

}  // namespace

void run_heads(const Options& options) {
  require_sound(options);
  PassLine progress("asking heads:");
  const engine::HeadsOptions how = heads_options(options, &progress);
  const engine::Session session = open_session(options);
  const WritingScope until_asked;  // a signal ends the passes, not the program: what is done is shown
  const engine::HeadRoles roles = session.head_roles(how);
  progress.end();
  if (options.json) {
    write_output(engine::report_text(engine::heads_report(session.model(), roles, how)));
  } else {
    Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
    add_heads_view(painter, roles, options);
    write_output(painter.result());
  }
  write_csv(options.roles.csv, roles);
  draw_output(options,
              [&](format::Font& font) { return draw_roles(roles, displayable(session.model().name, true), font); });
  check_interrupt();
}

}  // namespace sightline::cli
