#include "cli/watch_view.h"

#include <utility>

#include "cli/interrupt.h"

namespace sightline::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenFrames{33};  // what eyes follow; more would cost the generation time
constexpr int kPatience = 100;                           // ms that a wait for keys takes before it looks for signals

}  // namespace

WatchView::WatchView(WatchScreen screen, ColourChoice colour) : terminal_(colour), screen_(std::move(screen)) {
  draw(true);
}

void WatchView::take_keys(int milliseconds) {
  for (const WatchKey key : keys_.read(terminal_.read_keys(milliseconds))) {
    screen_.press(key);
    dirty_ = true;
  }
}

// A frame that the terminal has no room for yet is left out: a later one shows the same.
void WatchView::draw(bool at_once) {
  if (terminal_.take_change()) {
    screen_.resize(terminal_.shows(), terminal_.rows());
    dirty_ = at_once = true;
  }
  const Clock::time_point now = Clock::now();
  if (!dirty_ || (!at_once && (now - drawn_ < kBetweenFrames || !terminal_.is_ready()))) return;
  terminal_.write_frame(screen_.frame());
  dirty_ = false;
  drawn_ = now;
}

bool WatchView::reading(double share) {
  screen_.prompt_progress(share);
  dirty_ = true;
  take_keys(0);
  draw(false);
  return !left();
}

bool WatchView::token(const model::GeneratedToken& token) {
  const Clock::time_point now = Clock::now();
  if (!std::exchange(begun_, true)) first_ = now;
  screen_.add(token, std::chrono::duration<double>(now - first_).count());
  dirty_ = true;
  take_keys(0);
  draw(false);
  if (!screen_.paused()) return !left();
  const Clock::time_point paused = Clock::now();
  while (screen_.paused() && !left() && !interrupting_signal()) {
    draw(true);
    take_keys(kPatience);
  }
  first_ += Clock::now() - paused;
  return !left();
}

void WatchView::end(const std::string& how, const std::string& rest) {
  screen_.end(how, rest);
  dirty_ = true;
  while (!left() && !interrupting_signal() && terminal_.has_keys()) {
    draw(true);
    take_keys(kPatience);
  }
}

}  // namespace sightline::cli
