#include "cli/watch_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "cli/display_text.h"
#include "cli/weights.h"

namespace sightline::cli {
namespace {

constexpr double kLeastShade = 0.06;     // place on the scale below which text stays as it is
constexpr std::size_t kListedWords = 8;  // of which the first few are marked where there are no colours
constexpr std::size_t kMarkedWords = 3;

// The next of -1 (all), 0 .. count - 1, round and round.
int turned(int value, int by, int count) { return (value + 1 + by + count + 1) % (count + 1) - 1; }

// The line is cleared first: behind its last column there is nothing to clear, and terminals take the last character.
std::string on_line(int row, const std::string& content) { return fmt::format("\x1b[{};1H\x1b[K{}", row, content); }

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace

// What a frame shows of one step.
struct WatchScreen::View {
  std::int64_t step = -1;
  std::int64_t made = -1;  // item of the token that the step gave
  WatchedRow row;
  Scale scale;
  std::vector<WatchedText::Weighed> words;

  double weight_of(const WatchedItem& item) const {
    double sum = 0;
    for (auto key = item.token_begin; key < std::min(item.token_end, std::ssize(row.weights)); ++key) {
      sum += row.weights[static_cast<std::size_t>(key)];
    }
    return sum;
  }
  bool marks(std::int64_t word) const {
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), kMarkedWords));
    return std::any_of(words.begin(), end, [&](const auto& weighed) { return weighed.word == word; });
  }
};

WatchScreen::WatchScreen(WatchFacts facts, WatchedText text, const WatchedMaps& maps)
    : facts_(std::move(facts)), text_(std::move(text)), maps_(maps), wrapped_(1, false) {
  resize(terminal_, 24);
}

void WatchScreen::resize(const Terminal& terminal, int rows) {
  terminal_ = terminal;
  terminal_.width = std::max(1, terminal.width);
  rows_ = std::max(1, rows);
  wrap();
}

// All of the text anew.
void WatchScreen::wrap() {
  wrapped_ = WrappedText(terminal_.width, terminal_.utf8);
  for (std::size_t i = 0; i < text_.items().size(); ++i) {
    wrapped_.add(static_cast<std::int64_t>(i), text_.items()[i].text);
  }
  settle();
}

void WatchScreen::add(const model::GeneratedToken& token, double seconds) {
  text_.add(token.text);
  if (!token.text.empty()) wrapped_.add(std::ssize(text_.items()) - 1, token.text);
  if (token.sight != nullptr) steps_.add(*token.sight);
  seconds_ = seconds;
  settle();
}

void WatchScreen::end(const std::string& how, const std::string& rest) {
  text_.add_rest(rest);
  if (!rest.empty()) wrapped_.add(std::ssize(text_.items()) - 1, rest);
  end_ = how;
  paused_ = false;
  settle();
}

void WatchScreen::press(WatchKey key) {
  switch (key) {
    case WatchKey::up:
      return scroll(-1);
    case WatchKey::down:
      return scroll(1);
    case WatchKey::page_up:
      return scroll(-std::max(1, text_rows() - 1));
    case WatchKey::page_down:
      return scroll(std::max(1, text_rows() - 1));
    case WatchKey::home:
      return scroll(-top_);
    case WatchKey::end:
      chosen_.reset();
      return scroll(last_top() - top_);
    case WatchKey::left:
      return step(-1);
    case WatchKey::right:
      return step(1);
    case WatchKey::layer_on:
    case WatchKey::layer_back:
      maps_.layer = turned(maps_.layer, key == WatchKey::layer_on ? 1 : -1, facts_.layers);
      return;
    case WatchKey::head_on:
    case WatchKey::head_back:
      maps_.head = turned(maps_.head, key == WatchKey::head_on ? 1 : -1, facts_.heads);
      return;
    case WatchKey::mean:
      maps_ = {};
      return;
    case WatchKey::pause:
      paused_ = !paused_ && !ended();
      return;
    case WatchKey::enter:
      left_ = left_ || ended();
      return;
    case WatchKey::quit:
      left_ = true;
      return;
  }
}

// Lines that are left beside the header, the status and the keys: on low screens the text goes first.
int WatchScreen::text_rows() const { return rows_ - (rows_ >= 2) - (rows_ >= 4) - (rows_ >= 5); }

std::int64_t WatchScreen::last_top() const {
  return std::max<std::int64_t>(0, std::ssize(wrapped_.lines()) - text_rows());
}

std::int64_t WatchScreen::shown_step() const { return chosen_.value_or(steps_.count() - 1); }

void WatchScreen::step(int by) {
  if (steps_.count() == 0) return;
  chosen_ = std::max(shown_step() + by, steps_.first());
  if (*chosen_ >= steps_.count() - 1) chosen_.reset();
  follow_ = true;
  settle();
}

void WatchScreen::scroll(std::int64_t by) {
  top_ = std::clamp<std::int64_t>(top_ + by, 0, last_top());
  follow_ = top_ == last_top() && !chosen_;
}

// What is shown stays within what there is; the token of the shown step stays in sight where that is followed.
void WatchScreen::settle() {
  if (chosen_ && *chosen_ < steps_.first()) chosen_ = steps_.first();
  top_ = std::clamp<std::int64_t>(top_, 0, last_top());
  if (!follow_) return;
  if (!chosen_) {
    top_ = last_top();
    return;
  }
  const std::int64_t line = wrapped_.line_of(text_.item_of(text_.prompt_tokens() + *chosen_));
  top_ = std::clamp(top_, std::max<std::int64_t>(0, line - text_rows() + 1), line);
}

WatchScreen::View WatchScreen::view() const {
  View view;
  view.step = shown_step();
  if (view.step < 0) return view;
  view.made = text_.item_of(text_.prompt_tokens() + view.step);
  view.row = watched_row(steps_.at(view.step), maps_);
  view.scale.keys = std::ssize(view.row.weights);
  view.words = text_.heaviest(view.row.weights, kListedWords);
  return view;
}

std::string WatchScreen::state_text() const {
  if (ended()) return "ended: " + end_;
  if (paused_) return "paused";
  if (steps_.count() == 0) return fmt::format("reading the prompt: {:.0f} %", 100 * prompt_share_);
  return {};
}

std::string WatchScreen::header(const View& view) const {
  const char* const gap = "  ";
  const std::string name = displayable(facts_.model, terminal_.utf8);
  std::string line = fit_columns(name, std::max(8, terminal_.width / 4), terminal_.utf8);
  line += gap + maps_name(maps_, facts_.layers, facts_.heads, terminal_.utf8);
  if (const std::string state = state_text(); !state.empty()) line += gap + state;
  if (view.step >= 0) {
    line += fmt::format("{}token {}", gap, view.step + 1);
    if (chosen_) line += fmt::format(" of {}", steps_.count());
    line += fmt::format("{}{:.2f} nats", gap, view.row.entropy);
    if (!view.row.whole) line += fmt::format("{}by the {} heaviest keys of each map", gap, steps_.at(view.step).top);
    if (steps_.count() > 1 && seconds_ > 0) {
      line += fmt::format("{}{:.1f} tok/s", gap, static_cast<double>(steps_.count() - 1) / seconds_);
    }
  }
  Painter painter(terminal_);
  painter.accent(fit_columns(line, terminal_.width, terminal_.utf8));
  return painter.result();
}

// What is set aside, words, and segments. Where not all fit, words go before segments, and then the lightest segments:
// the shades show words, too.
std::string WatchScreen::status(const View& view) const {
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < std::min(view.row.segments.size(), facts_.segments.size()); ++s) {
    if (view.row.segments[s] >= 0.005) order.push_back(s);
  }
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t s) { return view.row.segments[s]; });
  std::string aside, segments;
  for (const std::size_t s : order) {
    const std::string& name = facts_.segments[s];
    std::string& to = name == "special" || name == "first" ? aside : segments;
    to += fmt::format("{}{} {}", to.empty() ? "" : ", ", displayable(name, terminal_.utf8),
                      share_text(view.row.segments[s]));
  }
  std::string line = aside.empty() ? "" : "aside: " + aside;
  const int room = terminal_.width - display_width(segments) - 2;
  for (std::size_t i = 0; i < view.words.size(); ++i) {
    const auto& [word, weight] = view.words[i];
    const std::string gap = i > 0 ? ", " : line.empty() ? "" : "  ";
    const std::string longer = line + gap + text_.word_label(word, terminal_.utf8) + " " + share_text(weight);
    if (display_width(longer) > room) break;
    line = longer;
  }
  if (!line.empty() && !segments.empty()) line += "  ";
  Painter painter(terminal_);
  painter.text(fit_columns(line + segments, terminal_.width, terminal_.utf8));
  return painter.result();
}

std::string WatchScreen::help() const {
  Painter painter(terminal_);
  const std::string end = ended() ? "q leave" : paused_ ? "q end  space go on" : "q end  space pause";
  const std::string line = fmt::format("{}  {} tokens  l L layer  h H head  m mean  {} scroll", end,
                                       painter.glyph("← →", "left right"), painter.glyph("↑ ↓", "up down"));
  painter.soft(fit_columns(line, terminal_.width, terminal_.utf8));
  return painter.result();
}

void WatchScreen::draw(Painter& painter, const Stretch& stretch, const View& view) const {
  const WatchedItem& item = text_.items()[static_cast<std::size_t>(stretch.item)];
  if (view.step >= 0 && stretch.item == view.made) {
    painter.text("\x1b[1;7m" + stretch.text + "\x1b[0m");
  } else if (item.template_token || (view.step >= 0 && stretch.item > view.made)) {
    painter.soft(stretch.text);
  } else if (item.aside || view.step < 0) {
    painter.text(stretch.text);
  } else if (!painter.coloured()) {
    painter.text(view.marks(item.word) ? "\x1b[1;4m" + stretch.text + "\x1b[0m" : stretch.text);
  } else if (const double place = view.scale.place(view.weight_of(item)); place >= kLeastShade) {
    painter.tinted(place, stretch.text);
  } else {
    painter.text(stretch.text);
  }
}

std::string WatchScreen::line(const ScreenLine& stretches, const View& view) const {
  Painter painter(terminal_);
  for (const Stretch& stretch : stretches) draw(painter, stretch, view);
  return painter.result();
}

// The mode 2026 makes terminals that know it show all at once.
std::string WatchScreen::frame() const {
  const View shown = view();
  std::string frame = "\x1b[?2026h";
  int row = 1;
  if (rows_ >= 2) frame += on_line(row++, header(shown));
  for (int i = 0; i < text_rows(); ++i) {
    const std::int64_t at = top_ + i;
    const bool there = at < std::ssize(wrapped_.lines());
    frame += on_line(row++, there ? line(wrapped_.lines()[static_cast<std::size_t>(at)], shown) : "");
  }
  if (rows_ >= 4) frame += on_line(row++, status(shown));
  if (rows_ >= 5) frame += on_line(row++, help());
  return frame + "\x1b[?2026l";
}

}  // namespace sightline::cli
