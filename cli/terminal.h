#ifndef SIGHTLINE_CLI_TERMINAL_H_
#define SIGHTLINE_CLI_TERMINAL_H_

#include <cstdint>
#include <functional>
#include <string>

#include "src/format/colour.h"

namespace sightline::cli {

enum class ColourChoice : std::uint8_t { automatic, always, never };
enum class ColourDepth : std::uint8_t { none, ansi16, xterm256, rgb };

/// What the place that text goes to can show.
struct Terminal {
  int width = 80;  // columns
  ColourDepth colours = ColourDepth::none;
  bool utf8 = false;
  format::Theme theme = format::Theme::dark;
};

/// Where detection looks, so that a test can stand in for the machine.
struct TerminalSource {
  bool is_terminal = false;
  int columns = 0;  // as the terminal says; 0 = unknown
  std::function<const char*(const char* name)> environment;
};

/// Width: the terminal's own, else COLUMNS, else 80; at least 40. Colours: `choice`, else none where NO_COLOR is set,
/// where TERM is "dumb" or into a pipe; 24-bit by COLORTERM, else by TERM. UTF-8: what the locale says. Theme: light
/// where COLORFGBG says that the background is.
Terminal detect_terminal(const TerminalSource& source, ColourChoice choice);

/// The same for a file descriptor of this process and its environment.
Terminal detect_terminal(int descriptor, ColourChoice choice);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_TERMINAL_H_
