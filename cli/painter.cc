#include "cli/painter.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/display_text.h"

namespace sightline::cli {
namespace {

using format::OkLab;
using format::Rgb;

// Colours 16..255 of xterm: a 6 x 6 x 6 cube and 24 greys. The first 16 are the user's own, so they are not used.
Rgb xterm_colour(int index) {
  if (index >= 232) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (index - 232));
    return {grey, grey, grey};
  }
  const auto level = [](int step) { return static_cast<std::uint8_t>(step == 0 ? 0 : 55 + 40 * step); };
  const int cube = index - 16;
  return {level(cube / 36), level(cube / 6 % 6), level(cube % 6)};
}

// The scale has one hue, so of the cube only its teals (green = blue, no more red) may stand for it: the nearest of all
// would now and then be a blue, and read as another kind of value.
bool is_near_hue(int index) {
  const Rgb colour = xterm_colour(index);
  return index >= 232 || (colour.green == colour.blue && colour.red <= colour.green);
}

int nearest_xterm(Rgb colour) {
  static const auto labs = [] {
    std::array<OkLab, 240> all;
    for (int i = 0; i < 240; ++i) all[i] = format::to_oklab(xterm_colour(16 + i));
    return all;
  }();
  const OkLab wanted = format::to_oklab(colour);
  int best = 16;
  double least = 1e9;
  for (int i = 0; i < 240; ++i) {
    const double distance =
        std::hypot(labs[i].lightness - wanted.lightness, labs[i].a - wanted.a, labs[i].b - wanted.b);
    if (distance >= least || !is_near_hue(16 + i)) continue;
    best = 16 + i;
    least = distance;
  }
  return best;
}

// Five steps that 16 colours can show on either background: plain, cyan, bold cyan, on cyan, on bright cyan.
std::string_view ansi_codes(double t) {
  static constexpr std::string_view kSteps[] = {"", "36", "1;36", "30;46", "1;30;106"};
  return kSteps[std::clamp(static_cast<int>(t * 5), 0, 4)];
}

}  // namespace

void Painter::wrapped(std::string_view codes, std::string_view content) {
  if (codes.empty() || !coloured()) {
    result_ += content;
  } else {
    result_ += fmt::format("\x1b[{}m{}\x1b[0m", codes, content);
  }
}

Painter& Painter::text(std::string_view plain) {
  result_ += plain;
  return *this;
}

Painter& Painter::bold(std::string_view strong) {
  wrapped("1", strong);
  return *this;
}

std::string Painter::foreground(Rgb colour) const {
  switch (terminal_.colours) {
    case ColourDepth::rgb:
      return fmt::format("38;2;{};{};{}", colour.red, colour.green, colour.blue);
    case ColourDepth::xterm256:
      return fmt::format("38;5;{}", nearest_xterm(colour));
    case ColourDepth::ansi16:
    case ColourDepth::none:
      break;
  }
  return {};
}

Painter& Painter::soft(std::string_view secondary) {
  wrapped(foreground(format::palette(terminal_.theme).soft), secondary);
  return *this;
}

// Of the 16 colours, cyan is the nearest to the accent.
Painter& Painter::accent(std::string_view heading) {
  const std::string colour = foreground(format::palette(terminal_.theme).gaze);
  wrapped(colour.empty() ? "1;36" : "1;" + colour, heading);
  return *this;
}

Painter& Painter::put(Ink ink, std::string_view content) {
  switch (ink) {
    case Ink::bold:
      return bold(content);
    case Ink::soft:
      return soft(content);
    case Ink::accent:
      return accent(content);
    case Ink::plain:
      break;
  }
  return text(content);
}

Painter& Painter::paragraph(std::initializer_list<Run> runs) {
  int used = 0;
  for (const Run& run : runs) {
    std::string line;
    std::string_view rest = run.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' ', 1), rest.size());  // a word with the space before it
      const std::string_view word = rest.substr(0, end);
      if (used > 0 && used + display_width(word) > terminal_.width) {
        put(run.ink, line).newline();
        line = word.substr(word.find_first_not_of(' '));
        used = display_width(line);
      } else {
        line += word;
        used += display_width(word);
      }
      rest.remove_prefix(end);
    }
    put(run.ink, line);
  }
  return newline();
}

Painter& Painter::spaces(int columns) {
  result_.append(static_cast<std::size_t>(std::max(0, columns)), ' ');
  return *this;
}

Painter& Painter::newline() {
  result_.resize(result_.find_last_not_of(' ') + 1);
  result_ += '\n';
  return *this;
}

std::string Painter::tint_codes(double t) const {
  const Rgb back = format::weight_colour(t, terminal_.theme), ink = format::ink_on(back);
  switch (terminal_.colours) {
    case ColourDepth::rgb:
      return fmt::format("38;2;{};{};{};48;2;{};{};{}", ink.red, ink.green, ink.blue, back.red, back.green, back.blue);
    case ColourDepth::xterm256:
      return fmt::format("38;5;{};48;5;{}", ink.red == 0 ? 16 : 231, nearest_xterm(back));
    case ColourDepth::ansi16:
      return std::string(ansi_codes(t));
    case ColourDepth::none:
      break;
  }
  return {};
}

Painter& Painter::tinted(double t, std::string_view content, bool strong) {
  const std::string codes = tint_codes(t);
  if (!strong) {
    wrapped(codes, content);
  } else {
    wrapped(codes.empty() ? "1;4" : "1;4;" + codes, content);
  }
  return *this;
}

Painter& Painter::shade(double t, int columns) {
  static constexpr std::string_view kUnicode[] = {" ", "░", "▒", "▓", "█"}, kAscii[] = {" ", ".", ":", "+", "#"};
  const auto step = static_cast<std::size_t>(t > 0 ? std::clamp(std::ceil(t * 5 - 0.5), 0.0, 4.0) : 0);
  std::string cell;
  const bool flat = terminal_.colours == ColourDepth::rgb || terminal_.colours == ColourDepth::xterm256;
  for (int i = 0; i < columns; ++i) cell += flat ? " " : glyph(kUnicode[step], kAscii[step]);
  if (flat) {
    wrapped(tint_codes(t), cell);
  } else {
    wrapped(terminal_.colours == ColourDepth::ansi16 ? "36" : "", cell);
  }
  return *this;
}

}  // namespace sightline::cli
