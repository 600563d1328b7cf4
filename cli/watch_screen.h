#ifndef SIGHTLINE_CLI_WATCH_SCREEN_H_
#define SIGHTLINE_CLI_WATCH_SCREEN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/painter.h"
#include "cli/watch_keys.h"
#include "cli/watch_steps.h"
#include "cli/watched_text.h"
#include "cli/wrapped_text.h"

namespace sightline::cli {

/// What the screen says beside the text.
struct WatchFacts {
  std::string model;
  int layers = 0, heads = 0;
  std::vector<std::string> segments;  // names, as StepSight::segment_mass has them
};

/// The screen of a generation: its text, shaded by what the newest token, or an earlier one, looked at. Knows of no
/// terminal: what happens goes in, frames come out.
class WatchScreen {
 public:
  WatchScreen(WatchFacts facts, WatchedText text, const WatchedMaps& maps);

  /// Columns are those of `terminal`; any size can be, also none.
  void resize(const Terminal& terminal, int rows);
  void prompt_progress(double share) { prompt_share_ = share; }
  /// seconds: since the first token.
  void add(const model::GeneratedToken& token, double seconds);
  /// The text has ended: what was held back of it, and how it ended.
  void end(const std::string& how, const std::string& rest);
  void press(WatchKey key);

  bool paused() const { return paused_; }
  bool left() const { return left_; }  // q, or after the end also Enter
  bool ended() const { return !end_.empty(); }
  const WatchedMaps& maps() const { return maps_; }
  const WatchedText& text() const { return text_; }

  /// What draws the whole screen, in one piece, whatever was there before. No line is wider than the terminal.
  std::string frame() const;

 private:
  struct View;
  int text_rows() const;
  std::int64_t last_top() const;
  std::int64_t shown_step() const;  // -1: there is none yet
  void step(int by);
  void scroll(std::int64_t by);
  void settle();
  void wrap();
  View view() const;
  std::string state_text() const;
  std::string header(const View& view) const;
  std::string status(const View& view) const;
  std::string line(const ScreenLine& stretches, const View& view) const;
  void draw(Painter& painter, const Stretch& stretch, const View& view) const;
  std::string help() const;

  WatchFacts facts_;
  WatchedText text_;
  WatchedMaps maps_;
  WatchSteps steps_;
  Terminal terminal_;
  int rows_ = 0;
  WrappedText wrapped_;
  std::int64_t top_ = 0;                // first line that is shown
  std::optional<std::int64_t> chosen_;  // a step; the newest one otherwise
  bool follow_ = true, paused_ = false, left_ = false;
  std::string end_;
  double prompt_share_ = 0, seconds_ = 0;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WATCH_SCREEN_H_
