#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/compare_picture.h"
#include "cli/compare_view.h"
#include "cli/interrupt.h"
#include "cli/output_files.h"
#include "cli/picture_file.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/compare_report.h"

namespace sightline::cli {
namespace {

using Texts = std::array<std::string, 2>;

constexpr int kMostRows = 100'000;

void require_usable(const Options& options) {
  require_top(options, kMostRows);
  require_picture(options.output, "a comparison is");
  require_writable({options.output}, options.compare.files);
}

// Those of the arguments, then those of -f.
Texts read_texts(const Options& options) {
  std::vector<Options> sources;
  for (const std::optional<std::string>& text : {options.text, options.compare.other}) {
    if (!text) continue;
    sources.emplace_back().text = text;
  }
  for (const std::string& file : options.compare.files) sources.emplace_back().file = file;
  if (sources.size() != 2) {
    throw UsageError(fmt::format("compare takes two texts, and {} given: put each in quotes, or name files with -f",
                                 sources.empty()       ? "none was"
                                 : sources.size() == 1 ? "one was"
                                                       : fmt::format("{} were", sources.size())));
  }
  const auto is_standard_input = [](const Options& source) { return source.text == "-" || source.file == "-"; };
  if (std::ranges::all_of(sources, is_standard_input)) {
    throw UsageError("standard input is one text: give the other in quotes, or name a file with -f");
  }
  return {read_text(sources[0]), read_text(sources[1])};
}

// Refuses a text that cannot be looked at, and says which of the two it is.
void require_text(const engine::Session& session, const std::string& text, const char* which, const Options& options) {
  try {
    session.token_count({text, options.special}, options.truncate);
  } catch (const BadArgument& error) {
    throw BadArgument(fmt::format("the {} text: {}", which, error.what()));
  }
}

engine::Look look_at(const engine::Session& session, const std::string& text, const char* which,
                     const Options& options) {
  PassLine progress(fmt::format("reading the {} text:", which));
  engine::LookOptions how = look_options(options, 1);
  if (options.layer) how.keep_layers = {*options.layer};
  how.progress = &progress;
  engine::Look look = session.look({text, options.special}, how);
  progress.end();
  return look;
}

engine::TextPair read_pair(const Options& options) {
  const Texts texts = read_texts(options);
  const engine::Session session = open_session(options);
  require_text(session, texts[0], "first", options);
  require_text(session, texts[1], "second", options);
  const engine::Look a = look_at(session, texts[0], "first", options);
  const engine::Look b = texts[0] == texts[1] ? a : look_at(session, texts[1], "second", options);
  engine::TextPair pair(a, b, options.pieces);
  note_what_is_missing(a, "the first text");
  if (texts[0] != texts[1]) note_what_is_missing(b, "the second text");
  return pair;
}

engine::CompareOptions compare_options(const Options& options, Progress* progress) {
  engine::CompareOptions how;
  how.token = options.token;
  how.named = options.compare.named;
  if (!options.compare.by.empty()) {
    how.by = options.compare.by == "shift" ? engine::RankBy::shift : engine::RankBy::divergence;
  }
  how.layer = options.layer;
  how.head = options.head;
  how.top = static_cast<std::size_t>(options.top.value_or(kComparedRows));
  how.threads = options.threads;
  how.progress = progress;
  return how;
}

}  // namespace

void run_compare(const Options& options) {
  require_usable(options);
  const engine::TextPair pair = read_pair(options);
  PassLine progress("comparing rows:");
  const engine::CompareOptions how = compare_options(options, &progress);
  const WritingScope until_asked;  // a signal ends the comparison, not the program: what is done is shown
  const engine::Comparison comparison = engine::compare(pair, how);
  progress.end();
  if (options.json) {
    write_output(engine::report_text(engine::compare_report(pair, comparison, how.top)));
  } else {
    Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
    add_compare_view(painter, pair, comparison, options);
    add_caveat(painter);
    write_output(painter.result());
  }
  if (comparison.shown().empty()) {
    note_nothing_drawn(options);
  } else {
    draw_output(options, [&](format::Font& font) { return draw_comparison(pair, comparison, how.top, font); });
  }
  check_interrupt();
}

}  // namespace sightline::cli
