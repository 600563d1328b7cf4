#ifndef SIGHTLINE_FORMAT_PICTURE_H_
#define SIGHTLINE_FORMAT_PICTURE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/format/colour.h"
#include "src/format/font.h"
#include "src/format/png.h"

namespace sightline::format {

/// A line of text. (x, y) is where its baseline starts, has its middle, or ends.
struct Label {
  enum class Anchor : std::uint8_t { start, middle, end };
  std::string text;
  double x = 0, y = 0;
  TextStyle style;
  Rgb colour;
  Anchor anchor = Anchor::start;
};

struct Box {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
  Rgb colour;
};

struct Point {
  double x = 0, y = 0;
};

/// A line through points, with round joins and ends; through a single point it is a disc.
struct Stroke {
  std::vector<Point> points;
  double width = 1;
  Rgb colour;
};

/// A filled triangle: the beam that marks a look, and a mark on a line.
struct Wedge {
  std::array<Point, 3> corners;
  Rgb colour;
};

/// A grid of coloured squares whose colours are asked for as they are drawn: a map of any size never stands in memory.
struct Cells {
  std::int64_t x = 0, y = 0;       // pixel of the top left
  std::int64_t cell = 1, gap = 0;  // pixels a cell, of which the last `gap` stay paper
  std::int64_t rows = 0, cols = 0;
  /// Fills `out` [row_end - row_begin, cols]. Rows are asked for in ascending order, a row seldom more than once.
  std::function<void(std::int64_t row_begin, std::int64_t row_end, std::span<Rgb> out)> colours;
};

/// What a picture shows, before it becomes PNG or SVG. Pixels; y points down. Later lists lie over earlier ones.
struct Picture {
  std::int64_t width = 0, height = 0;
  double density = 1;  // pixels of the PNG for a pixel at the size meant for reading
  std::string title;   // for readers that cannot see it
  Rgb paper;
  std::vector<Cells> cells;
  std::vector<Box> boxes;
  std::vector<Stroke> strokes;
  std::vector<Wedge> wedges;
  std::vector<Label> labels;
};

/// Called between bands with the share that is done, 0..1; may throw to stop.
using Progress = std::function<void(double)>;

/// Draws in bands of some rows: memory is O(width). Throws what the sink, the cells and `progress` throw.
void write_png(const Picture& picture, Font& font, const ByteSink& sink, const Progress& progress = {});

/// As SVG 1.1 with text as text. Grids of more than `kMaxSvgCells` cells are embedded as exact PNG images, a pixel a
/// cell.
void write_svg(const Picture& picture, const ByteSink& sink, const Progress& progress = {});
inline constexpr std::int64_t kMaxSvgCells = 40'000;

/// Text as it may stand in XML content and in attributes between double quotes: the five marks escaped, what XML 1.0
/// cannot hold (most control characters, broken UTF-8) as U+FFFD.
std::string xml_escape(std::string_view text);

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_PICTURE_H_
