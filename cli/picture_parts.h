#ifndef SIGHTLINE_CLI_PICTURE_PARTS_H_
#define SIGHTLINE_CLI_PICTURE_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/weights.h"
#include "src/format/picture.h"

namespace sightline::cli {

// Sizes in pixels at density 2, which is what a screen of today shows sharp: 26 here reads as 13.
inline constexpr double kDensity = 2;
inline constexpr double kTitleSize = 44, kTextSize = 26, kSmallSize = 22;
inline constexpr double kLineStep = 36;  // from a line of text to the next
inline constexpr std::int64_t kMargin = 56;

/// Colours of all pictures: those of the light theme.
const format::Palette& colours();

/// Cells of a map coloured on the light scale; NaN weights in orange, what a row does not see in grey.
format::Cells colour_cells(const Weights& weights, const Scale& scale, std::int64_t x, std::int64_t y,
                           std::int64_t cell, std::int64_t gap);

/// The weight in the middle of its cell, which is there; nothing where it would read .00.
void add_weight_number(format::Picture& picture, const Scale& scale, float weight, double x, double y);

/// Title and lines below it from the top margin down; returns the y where the next part may begin.
std::int64_t add_header(format::Picture& picture, const std::string& title, const std::vector<std::string>& lines);

/// A number below the colour scale, at 0..1 of its length.
struct LegendTick {
  double place = 0;
  std::string text;
};
/// The colour scale from `y` down with its ticks, and beside it what it shows. kLegendStep pixels below `y` is room
/// again.
void add_legend(format::Picture& picture, const std::vector<LegendTick>& ticks, const std::string& what,
                std::int64_t y);
inline constexpr std::int64_t kLegendStep = 96;

/// add_foot(), and the size of a picture that ends there: as wide as `width`, or where labels need more, as they do.
void end_picture(format::Picture& picture, format::Font& font, const std::vector<std::string>& lines, std::int64_t y);

/// The scale of weights with its ticks, and the caveat, below `y`; ends the picture as end_picture() does.
void add_footer(format::Picture& picture, format::Font& font, const Scale& scale, std::int64_t y);

/// Lines of a note, the first marked with the beam that marks a look, below `y`; returns the height of a picture that
/// ends there. Text begins kFootIndent pixels from the margin.
std::int64_t add_foot(format::Picture& picture, const std::vector<std::string>& lines, std::int64_t y);
inline constexpr std::int64_t kFootIndent = 56;

/// `text` cut to `most` pixels, an ellipsis in place of what is cut.
std::string fit(format::Font& font, const std::string& text, const format::TextStyle& style, double most);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_PICTURE_PARTS_H_
