#ifndef SIGHTLINE_CLI_PAINTER_H_
#define SIGHTLINE_CLI_PAINTER_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace sightline::cli {

enum class Ink : std::uint8_t { plain, bold, soft, accent };

/// Text in one ink.
struct Run {
  Ink ink = Ink::plain;
  std::string text;
};

/// Builds text for a terminal, coloured as far as it can be. Text given to it must be displayable already.
class Painter {
 public:
  explicit Painter(const Terminal& terminal) : terminal_(terminal) {}

  const Terminal& terminal() const { return terminal_; }
  bool coloured() const { return terminal_.colours != ColourDepth::none; }

  Painter& put(Ink ink, std::string_view content);
  Painter& text(std::string_view plain);
  Painter& bold(std::string_view strong);
  Painter& soft(std::string_view secondary);  // quieter than plain
  Painter& accent(std::string_view heading);  // the colour of headings and marks
  /// Runs of text one after the other, on lines of their own, broken between words to fit the width.
  Painter& paragraph(std::initializer_list<Run> runs);
  Painter& note(std::string_view sentence) { return paragraph({{Ink::soft, std::string(sentence)}}); }

  Painter& spaces(int columns);
  Painter& newline();  // without spaces at the end of the line

  /// `content` on the scale's colour at `t` (0..1); without colours, `content` alone. `strong` draws it bold and
  /// underlined.
  Painter& tinted(double t, std::string_view content, bool strong = false);

  /// A cell without a number, `columns` wide: the scale's colour or, without colours, a shade.
  Painter& shade(double t, int columns);

  /// `unicode` where the terminal shows it, else `ascii`.
  std::string_view glyph(std::string_view unicode, std::string_view ascii) const {
    return terminal_.utf8 ? unicode : ascii;
  }

  const std::string& result() const { return result_; }

 private:
  void wrapped(std::string_view codes, std::string_view content);
  std::string foreground(format::Rgb colour) const;  // empty where the terminal cannot show it
  std::string tint_codes(double t) const;

  Terminal terminal_;
  std::string result_;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_PAINTER_H_
