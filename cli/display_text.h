#ifndef SIGHTLINE_CLI_DISPLAY_TEXT_H_
#define SIGHTLINE_CLI_DISPLAY_TEXT_H_

#include <string>
#include <string_view>

namespace sightline::cli {

/// `text` as it may be shown: control characters, escape sequences, bidirectional controls, invisible, private and
/// unassigned characters and broken UTF-8 become escapes (\n, \x1b, \u202e), and without `utf8` so does all that is not
/// ASCII (\u00e9).
std::string displayable(std::string_view text, bool utf8);

/// The same of a token's text, where white space counts: a space reads ␣, a line's end ⏎, a tab ⇥, a return ␍; without
/// `utf8` \s, \n, \t and \r. Other spaces are escapes (\u00a0).
std::string with_marks(std::string_view text, bool utf8);

/// What a row or a column is called: displayable(), but where there is white space alone its marks, as a blank says
/// nothing.
std::string label_text(std::string_view text, bool utf8);

/// Columns that displayable text takes in a terminal: 2 for wide East Asian characters and emoji, 0 for combining
/// marks.
int display_width(std::string_view text);

/// Cut to at most `width` columns, with an ellipsis in place of what is cut.
std::string fit_columns(std::string_view text, int width, bool utf8);

/// Exactly `width` columns: cut, or filled with spaces on the right (`pad_right`) or on the left (`pad_left`).
std::string pad_right(std::string_view text, int width, bool utf8);
std::string pad_left(std::string_view text, int width, bool utf8);

/// The first `width` columns or fewer, taken off the front of `text`: a character with the marks that combine with it
/// never splits.
std::string take_columns(std::string_view& text, int width);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_DISPLAY_TEXT_H_
