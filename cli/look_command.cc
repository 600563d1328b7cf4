#include <fmt/core.h>
#include <unistd.h>

#include "cli/answer_table.h"
#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/head_summary.h"
#include "cli/head_table.h"
#include "cli/lines_command.h"
#include "cli/map_view.h"
#include "cli/page_output.h"
#include "cli/report_output.h"
#include "cli/streams.h"
#include "cli/token_view.h"
#include "cli/view.h"
#include "src/engine/words.h"

namespace sightline::cli {
namespace {

std::string plural(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

void add_model_line(Painter& painter, const engine::Look& look) {
  std::size_t special = 0;
  for (const engine::LookToken& token : look.tokens()) special += token.special;
  const std::size_t words = look.words().size() - special - engine::count_white_space(look.words());
  const std::string facts =
      fmt::format(", {} {} {}: {}, {} ({} special)", plural(static_cast<std::size_t>(look.layers()), "layer"),
                  painter.glyph("×", "x"), plural(static_cast<std::size_t>(look.heads()), "head"),
                  plural(words, "word"), plural(look.tokens().size(), "token"), special);
  painter.paragraph({{Ink::bold, displayable(look.model().name, painter.terminal().utf8)}, {Ink::plain, facts}})
      .newline();
}

void add_heads(Painter& painter, const engine::Look& look, const engine::MapId& map, const Options& options) {
  if (options.heads || !has_many_heads(look)) return add_head_table(painter, look, map);
  options.layer ? add_heads_of_layer(painter, look, map) : add_layer_summary(painter, look, map);
}

void add_answers(Painter& painter, const engine::Look& look, const Options& options) {
  const std::vector<engine::Answer> answers = engine::answers_of(look, {options.layer, options.head});
  if (answers.empty()) return;
  painter.newline();
  add_answer_table(painter, look.segments().names, answers, options);
}

std::string look_text(const Options& options, const engine::Look& look, const engine::MapId& map) {
  Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
  add_model_line(painter, look);
  if (options.token.empty()) {
    add_heads(painter, look, map, options);
    painter.newline();
    add_map(painter, look, map, options);
  } else {
    add_token_view(painter, look, options);
  }
  add_answers(painter, look, options);
  add_knock_outs(painter, look.knock_outs());
  add_caveat(painter);
  return painter.result();
}

// Indexes into the axis with special tokens, as a report counts them.
std::vector<std::size_t> report_items(const ShownItems& shown, const engine::Axis& all) {
  std::vector<std::size_t> indexes;
  for (const engine::AxisItem& item : *shown.items) {
    const auto found = std::ranges::lower_bound(all, item.token_begin, {}, &engine::AxisItem::token_begin);
    indexes.push_back(static_cast<std::size_t>(found - all.begin()));
  }
  return indexes;
}

engine::ReportOptions report_options(const engine::Look& look, const engine::MapId& map, const Options& options) {
  engine::ReportOptions report;
  report.grid = map;
  report.pieces = options.pieces;
  report.special = !options.no_special;
  report.save = options.save;
  report.answer_maps = {options.layer, options.head};
  if (options.layer || options.head) report.save_maps = chosen_maps(look, options);
  const MapPart part = chosen_part(look, options);
  const engine::Axis all = look.axis(options.pieces, true);
  if (part.rows_chosen) report.grid_rows = report_items(part.rows, all);
  if (part.cols_chosen) report.grid_cols = report_items(part.cols, all);
  return report;
}

}  // namespace

void run_look(const Options& options) {
  if (options.jsonl) return report_lines(options);
  if (!options.lines.empty()) return save_page_of_lines(options);
  const bool reports = options.json || !options.output.empty();
  const engine::Look look = look_at_text(options, options.top, !reports && options.html.empty());
  const engine::MapId map = chosen_map(look, options);
  const engine::ReportOptions report = report_options(look, map, options);
  const std::string output =
      options.json ? engine::report_text(engine::build_report(look, report)) : look_text(options, look, map);
  save_report(options, look, report);
  save_page(options, {&look, 1});
  write_output(output);
}

}  // namespace sightline::cli
