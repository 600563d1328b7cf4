#ifndef SIGHTLINE_CLI_WATCH_TERMINAL_H_
#define SIGHTLINE_CLI_WATCH_TERMINAL_H_

#include <string>

#include "cli/terminal.h"

namespace sightline::cli {

/// The terminal on standard output, taken for a screen: its alternate buffer, no cursor, no line editing. However the
/// program ends, is stopped (Ctrl-Z) or goes on, it finds its terminal as it was, or takes it again. One at a time.
class WatchTerminal {
 public:
  /// Throws BadFile where standard output is no terminal.
  explicit WatchTerminal(ColourChoice colour);
  ~WatchTerminal();
  WatchTerminal(const WatchTerminal&) = delete;
  WatchTerminal& operator=(const WatchTerminal&) = delete;

  /// Whether the screen can be drawn on standard output: a terminal, and not one that says it is dumb.
  static bool is_there();

  /// True once after each change of size, and after it was taken again: all must be drawn anew.
  bool take_change();
  Terminal shows() const;  // with the width as it is, however narrow
  int rows() const;

  /// Whether there are keys to read: standard input, or where that is no terminal the one that controls the process.
  bool has_keys() const { return keys_ >= 0; }
  /// What was typed, waiting for so long at most; a signal ends the wait. Without keys it just waits.
  std::string read_keys(int milliseconds);

  /// Writes a frame; Ctrl-Z waits for its end. Throws as write_output().
  void write_frame(const std::string& frame);
  /// Whether a frame can be written without waiting for the terminal.
  bool is_ready() const;

 private:
  ColourChoice colour_;
  int keys_ = -1, opened_ = -1;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WATCH_TERMINAL_H_
