#include "cli/page_output.h"

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/lines_command.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/page_file.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

std::vector<NumberedText> texts_of_lines(const std::string& path) {
  LineReader lines(path);
  std::vector<NumberedText> texts;
  std::size_t bytes = 0;
  for (NumberedText text; lines.next(text); texts.push_back(text)) {
    bytes += text.text.size();
    if (bytes > engine::kMaxTextBytes) {
      throw BadFile(fmt::format("{}: more than {} MB of text", path, engine::kMaxTextBytes >> 20));
    }
  }
  if (texts.empty()) throw BadArgument(fmt::format("{}: has no text: write one a line", path));
  return texts;
}

std::vector<engine::Look> looks_at_lines(const Options& options) {
  const std::vector<NumberedText> texts = texts_of_lines(options.lines);
  const engine::Session session = open_session(options);
  std::vector<engine::Look> looks;
  ProgressLine progress("looking");
  for (const auto& [line, text] : texts) {
    progress(static_cast<double>(looks.size()) / static_cast<double>(texts.size()));
    try {
      looks.push_back(session.look(text, look_options(options, options.top)));
    } catch (const BadArgument& error) {
      throw BadArgument(fmt::format("{}, line {}: {}", options.lines, line, error.what()));
    }
  }
  return looks;
}

}  // namespace

void save_page(const Options& options, std::span<const engine::Look> looks) {
  if (options.html.empty()) return;
  engine::PageOptions page;
  page.exact = options.html_exact;
  page.max_bytes = static_cast<std::size_t>(std::llround(options.html_max * 1e6));
  page.maps = chosen_maps(looks.front(), options);
  // Until something is written a signal ends the program at once.
  const std::string html = engine::page_html(looks, page);
  {
    const WritingScope writing;
    format::AtomicFile file(options.html);
    file.write(html);
    check_interrupt();
    file.commit();
  }
  write_note(
      fmt::format("wrote {}, {:.1f} MB: open it in a browser", options.html, static_cast<double>(html.size()) / 1e6));
}

void save_page_of_lines(const Options& options) {
  require_lines_alone(options);
  if (options.html.empty())
    throw UsageError("--lines needs --html FILE, for a page of the texts, or --jsonl, for a report each");
  const std::vector<engine::Look> looks = looks_at_lines(options);
  save_page(options, looks);
  write_output(
      fmt::format("{} text{} in {}\n{}\n", looks.size(), looks.size() == 1 ? "" : "s", options.html, engine::kCaveat));
}

}  // namespace sightline::cli
