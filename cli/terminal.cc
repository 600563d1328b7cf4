#include "cli/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <clocale>
#include <cstdlib>
#include <string_view>

namespace sightline::cli {
namespace {

constexpr int kLeastWidth = 40, kMostWidth = 1000, kUnknownWidth = 80;

std::string_view value_of(const TerminalSource& source, const char* name) {
  const char* value = source.environment(name);
  return value ? value : "";
}

int width_of(const TerminalSource& source) {
  int width = source.is_terminal ? source.columns : 0;
  if (width <= 0) {
    const std::string_view columns = value_of(source, "COLUMNS");
    std::from_chars(columns.data(), columns.data() + columns.size(), width);
  }
  return width <= 0 ? kUnknownWidth : std::clamp(width, kLeastWidth, kMostWidth);
}

ColourDepth depth_of(const TerminalSource& source) {
  const std::string_view colorterm = value_of(source, "COLORTERM"), term = value_of(source, "TERM");
  if (colorterm == "truecolor" || colorterm == "24bit" || term.ends_with("-direct")) return ColourDepth::rgb;
  return term.find("256color") != std::string_view::npos ? ColourDepth::xterm256 : ColourDepth::ansi16;
}

ColourDepth colours_of(const TerminalSource& source, ColourChoice choice) {
  if (choice == ColourChoice::always) return depth_of(source);
  const std::string_view term = value_of(source, "TERM");
  const bool wanted = choice == ColourChoice::automatic && source.is_terminal && value_of(source, "NO_COLOR").empty();
  return wanted && !term.empty() && term != "dumb" ? depth_of(source) : ColourDepth::none;
}

// The name of a locale says its encoding after the point. Asking the C library alone would take a machine where that
// locale is not installed (containers, ssh) for one that cannot show UTF-8.
bool names_utf8(const TerminalSource& source) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(value_of(source, name));
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(), [](unsigned char c) { return std::tolower(c); });
    return locale.find(".utf-8") != std::string::npos || locale.find(".utf8") != std::string::npos;
  }
  return false;
}

// rxvt, Konsole and others set COLORFGBG to "foreground;background", colours of the 16.
format::Theme theme_of(const TerminalSource& source) {
  const std::string_view colours = value_of(source, "COLORFGBG");
  const std::string_view background = colours.substr(colours.rfind(';') + 1);
  return background == "7" || background == "15" ? format::Theme::light : format::Theme::dark;
}

}  // namespace

Terminal detect_terminal(const TerminalSource& source, ColourChoice choice) {
  return {width_of(source), colours_of(source, choice), names_utf8(source), theme_of(source)};
}

Terminal detect_terminal(int descriptor, ColourChoice choice) {
  TerminalSource source;
  source.is_terminal = isatty(descriptor) != 0;
  winsize size{};
  if (source.is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0) source.columns = size.ws_col;
  source.environment = [](const char* name) -> const char* { return std::getenv(name); };
  Terminal terminal = detect_terminal(source, choice);
  if (std::setlocale(LC_CTYPE, "")) terminal.utf8 = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  return terminal;
}

}  // namespace sightline::cli
