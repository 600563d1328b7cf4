#include "cli/page_output.h"

#include <fmt/core.h>

#include <cmath>
#include <sstream>
#include <vector>

#include "cli/interrupt.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/page_file.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

struct NumberedText {
  std::size_t line = 0;  // from 1
  std::string text;
};

std::vector<NumberedText> texts_of_lines(const std::string& path) {
  std::istringstream stream(format::read_file(path, engine::kMaxTextBytes));
  std::vector<NumberedText> texts;
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos) texts.push_back({number, line});
  }
  if (texts.empty()) throw BadArgument(fmt::format("{}: has no text: write one a line", path));
  return texts;
}

// What a page of several texts does not do.
void require_page_alone(const Options& options) {
  const auto refuse = [](bool given, const char* what) {
    if (given) throw UsageError(fmt::format("--lines writes a page of many texts: leave {} out", what));
  };
  refuse(options.text.has_value(), "TEXT");
  refuse(!options.file.empty(), "--file");
  refuse(!options.token.empty(), "--token");
  refuse(options.json, "--json");
  refuse(!options.output.empty(), "--output");
}

std::vector<engine::Look> looks_at_lines(const Options& options) {
  const std::vector<NumberedText> texts = texts_of_lines(options.lines);
  const engine::Session session = open_session(options);
  engine::LookOptions look_options;
  look_options.truncate = options.truncate;
  if (options.top) look_options.top = *options.top;
  std::vector<engine::Look> looks;
  ProgressLine progress("looking");
  for (const auto& [line, text] : texts) {
    progress(static_cast<double>(looks.size()) / static_cast<double>(texts.size()));
    try {
      looks.push_back(session.look(text, look_options));
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
  require_page_alone(options);
  const std::vector<engine::Look> looks = looks_at_lines(options);
  save_page(options, looks);
  write_output(
      fmt::format("{} text{} in {}\n{}\n", looks.size(), looks.size() == 1 ? "" : "s", options.html, engine::kCaveat));
}

}  // namespace sightline::cli
