#include "cli/watch_lines.h"

#include <fmt/format.h>

#include "cli/display_text.h"

namespace sightline::cli {
namespace {

constexpr int kTokenColumns = 16;
constexpr double kLeastShare = 0.005;  // reads 0 %

std::string padded(std::string text) {
  const int columns = display_width(text);
  if (columns < kTokenColumns) text.append(static_cast<std::size_t>(kTokenColumns - columns), ' ');
  return text;
}

}  // namespace

WatchLines::WatchLines(const engine::PromptedGeneration& prompted, const WatchedMaps& maps, std::size_t words,
                       bool utf8)
    : text_(prompted), segments_(prompted.segments.names_with_generated()), maps_(maps), words_(words), utf8_(utf8) {}

std::string WatchLines::line(const model::GeneratedToken& token) {
  const std::int64_t position = text_.tokens();
  std::string line = fmt::format("{:>6}  {}", position, padded(with_marks(token.text, utf8_)));
  if (token.sight != nullptr) {
    const WatchedRow row = watched_row(*token.sight, maps_);
    line += fmt::format("  {:.2f} nats", row.entropy);
    const char* gap = "  ";
    for (const auto& [word, weight] : text_.heaviest(row.weights, words_)) {
      line += fmt::format("{}{} {:.0f} %", gap, text_.word_label(word, utf8_), 100 * weight);
      gap = ", ";
    }
    gap = "  | ";
    for (std::size_t s = 0; s < row.segments.size(); ++s) {
      if (row.segments[s] < kLeastShare) continue;
      line += fmt::format("{}{} {:.0f} %", gap, displayable(segments_[s], utf8_), 100 * row.segments[s]);
      gap = ", ";
    }
  }
  text_.add(token.text);
  return line + "\n";
}

std::string WatchLines::rest(std::string_view text) const {
  return fmt::format("{:>6}  {}\n", "", with_marks(text, utf8_));
}

}  // namespace sightline::cli
