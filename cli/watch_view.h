#ifndef SIGHTLINE_CLI_WATCH_VIEW_H_
#define SIGHTLINE_CLI_WATCH_VIEW_H_

#include <chrono>
#include <string>

#include "cli/watch_keys.h"
#include "cli/watch_screen.h"
#include "cli/watch_terminal.h"

namespace sightline::cli {

/// The screen of a generation on the terminal: takes keys between tokens and draws as often as is worth it. The
/// terminal is as it was once the view is gone.
class WatchView {
 public:
  WatchView(WatchScreen screen, ColourChoice colour);

  /// How far the prompt is. False: the user has left.
  bool reading(double share);
  /// The next token; waits while the user pauses. False: the user has left.
  bool token(const model::GeneratedToken& token);
  /// The text has ended: the screen stays until the user leaves it, or a signal comes.
  void end(const std::string& how, const std::string& rest);

  const WatchedMaps& maps() const { return screen_.maps(); }
  bool left() const { return screen_.left(); }

 private:
  using Clock = std::chrono::steady_clock;
  void take_keys(int milliseconds);
  void draw(bool at_once);

  WatchTerminal terminal_;
  WatchScreen screen_;
  WatchKeys keys_;
  bool dirty_ = true;  // something is to be drawn
  Clock::time_point drawn_{}, first_{};
  bool begun_ = false;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WATCH_VIEW_H_
