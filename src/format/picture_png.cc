#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/format/picture.h"

namespace sightline::format {
namespace {

constexpr std::int64_t kBandRows = 64;  // pixels; glyphs rarely span more than two bands, and a band stays in cache

// Rows [top, top + rows) of the picture.
struct Band {
  std::int64_t top = 0, rows = 0, width = 0;
  std::vector<std::uint8_t> rgb;

  Band(std::int64_t top, std::int64_t rows, std::int64_t width, Rgb paper) : top(top), rows(rows), width(width) {
    rgb.resize(static_cast<std::size_t>(rows * width * 3));
    for (std::size_t i = 0; i < rgb.size(); i += 3) put(&rgb[i], paper);
  }

  static void put(std::uint8_t* pixel, Rgb colour) {
    pixel[0] = colour.red;
    pixel[1] = colour.green;
    pixel[2] = colour.blue;
  }
  std::uint8_t* at(std::int64_t x, std::int64_t y) {
    return &rgb[static_cast<std::size_t>(((y - top) * width + x) * 3)];
  }
  bool has(std::int64_t x, std::int64_t y) const { return x >= 0 && x < width && y >= top && y < top + rows; }

  void fill(std::int64_t x, std::int64_t y, std::int64_t across, std::int64_t down, Rgb colour) {
    const std::int64_t left = std::max<std::int64_t>(x, 0), right = std::min(x + across, width);
    for (std::int64_t row = std::max(y, top); row < std::min(y + down, top + rows); ++row) {
      for (std::int64_t col = left; col < right; ++col) put(at(col, row), colour);
    }
  }

  // Blending in sRGB, as browsers do, keeps small text as dark as its colour.
  void blend(std::int64_t x, std::int64_t y, Rgb colour, int coverage) {
    if (!has(x, y) || coverage == 0) return;
    std::uint8_t* pixel = at(x, y);
    const std::uint8_t over[3] = {colour.red, colour.green, colour.blue};
    for (int i = 0; i < 3; ++i)
      pixel[i] = static_cast<std::uint8_t>((pixel[i] * (255 - coverage) + over[i] * coverage + 127) / 255);
  }
};

void paint(Band& band, const Cells& cells) {
  const std::int64_t first = std::max<std::int64_t>(0, (band.top - cells.y) / cells.cell);
  const std::int64_t last = std::min(cells.rows, (band.top + band.rows - cells.y + cells.cell - 1) / cells.cell);
  if (first >= last || band.top + band.rows <= cells.y) return;
  std::vector<Rgb> colours(static_cast<std::size_t>((last - first) * cells.cols));
  cells.colours(first, last, colours);
  const std::int64_t side = cells.cell - cells.gap;
  for (std::int64_t row = first; row < last; ++row) {
    for (std::int64_t col = 0; col < cells.cols; ++col) {
      band.fill(cells.x + col * cells.cell, cells.y + row * cells.cell, side, side,
                colours[static_cast<std::size_t>((row - first) * cells.cols + col)]);
    }
  }
}

double distance(const Point& a, const Point& b, double x, double y) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double t = length > 0 ? std::clamp(((x - a.x) * dx + (y - a.y) * dy) / length, 0.0, 1.0) : 0;
  return std::hypot(x - a.x - t * dx, y - a.y - t * dy);
}

// The widest coverage that a segment of the line gives a pixel is what the line gives it, so that joins, which lie in
// two segments, are no darker than the rest.
void cover(const Band& band, const Point& a, const Point& b, double width, std::vector<std::uint8_t>& coverage) {
  const double reach = width / 2 + 1;
  const auto left = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::min(a.x, b.x) - reach));
  const auto right = std::min(band.width, static_cast<std::int64_t>(std::max(a.x, b.x) + reach) + 1);
  const auto top = std::max(band.top, static_cast<std::int64_t>(std::min(a.y, b.y) - reach));
  const auto bottom = std::min(band.top + band.rows, static_cast<std::int64_t>(std::max(a.y, b.y) + reach) + 1);
  for (std::int64_t y = top; y < bottom; ++y) {
    for (std::int64_t x = left; x < right; ++x) {
      const double from = distance(a, b, static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5);
      const double share = std::clamp(width / 2 + 0.5 - from, 0.0, std::min(width, 1.0));
      std::uint8_t& held = coverage[static_cast<std::size_t>((y - band.top) * band.width + x)];
      held = std::max(held, static_cast<std::uint8_t>(std::lround(255 * share)));
    }
  }
}

void paint(Band& band, const Stroke& stroke) {
  double top = INFINITY, bottom = -INFINITY;
  for (const Point& point : stroke.points) top = std::min(top, point.y), bottom = std::max(bottom, point.y);
  const double reach = stroke.width / 2 + 1;
  if (!(top - reach < static_cast<double>(band.top + band.rows) && bottom + reach > static_cast<double>(band.top)))
    return;
  std::vector<std::uint8_t> coverage(static_cast<std::size_t>(band.rows * band.width));
  for (std::size_t i = 0; i < stroke.points.size(); ++i) {
    cover(band, stroke.points[i], stroke.points[std::min(i + 1, stroke.points.size() - 1)], stroke.width, coverage);
  }
  for (std::int64_t y = 0; y < band.rows; ++y) {
    for (std::int64_t x = 0; x < band.width; ++x) {
      band.blend(x, band.top + y, stroke.colour, coverage[static_cast<std::size_t>(y * band.width + x)]);
    }
  }
}

bool inside(const Wedge& wedge, double x, double y) {
  int positive = 0, negative = 0;
  for (int i = 0; i < 3; ++i) {
    const auto &a = wedge.corners[i], &b = wedge.corners[(i + 1) % 3];
    const double side = (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
    positive += side > 0;
    negative += side < 0;
  }
  return positive == 0 || negative == 0;
}

void paint(Band& band, const Wedge& wedge) {
  const auto [left, right] = std::minmax({wedge.corners[0].x, wedge.corners[1].x, wedge.corners[2].x});
  const auto [top, bottom] = std::minmax({wedge.corners[0].y, wedge.corners[1].y, wedge.corners[2].y});
  constexpr int kSamples = 4;  // a side
  for (auto y = std::max(band.top, static_cast<std::int64_t>(top)); y < band.top + band.rows && y <= bottom; ++y) {
    for (auto x = static_cast<std::int64_t>(left); x <= right; ++x) {
      int hits = 0;
      for (int i = 0; i < kSamples * kSamples; ++i) {
        hits += inside(wedge, x + (i % kSamples + 0.5) / kSamples, y + (i / kSamples + 0.5) / kSamples);
      }
      band.blend(x, y, wedge.colour, hits * 255 / (kSamples * kSamples));
    }
  }
}

// A label with its start point and the range of rows that its glyphs may touch.
struct PlacedLabel {
  const Label* label = nullptr;
  double x = 0, y = 0;
  double top = 0, bottom = 0;
};

PlacedLabel place(const Label& label, Font& font) {
  const double radians = label.style.angle * std::numbers::pi / 180, reach = font.width(label.text, label.style);
  const double share = label.anchor == Label::Anchor::start ? 0 : label.anchor == Label::Anchor::middle ? 0.5 : 1;
  PlacedLabel placed{&label, label.x - share * reach * std::cos(radians), label.y + share * reach * std::sin(radians)};
  const double end = placed.y - reach * std::sin(radians), margin = 1.5 * label.style.size;
  placed.top = std::min(placed.y, end) - margin;
  placed.bottom = std::max(placed.y, end) + margin;
  return placed;
}

void paint(Band& band, const PlacedLabel& placed, Font& font) {
  if (placed.bottom < static_cast<double>(band.top) || placed.top > static_cast<double>(band.top + band.rows)) return;
  font.draw(placed.label->text, placed.label->style, placed.x, placed.y, [&](const GlyphMask& glyph) {
    for (int row = 0; row < glyph.rows; ++row) {
      const std::uint8_t* coverage = glyph.coverage + static_cast<std::ptrdiff_t>(row) * glyph.pitch;
      for (int col = 0; col < glyph.cols; ++col) {
        band.blend(glyph.x + col, glyph.y + row, placed.label->colour, coverage[col]);
      }
    }
  });
}

}  // namespace

void write_png(const Picture& picture, Font& font, const ByteSink& sink, const Progress& progress) {
  PngWriter png(sink, picture.width, picture.height, picture.title);
  std::vector<PlacedLabel> labels;
  for (const Label& label : picture.labels) labels.push_back(place(label, font));
  for (std::int64_t top = 0; top < picture.height; top += kBandRows) {
    if (progress) progress(static_cast<double>(top) / static_cast<double>(picture.height));
    Band band(top, std::min(kBandRows, picture.height - top), picture.width, picture.paper);
    for (const Cells& cells : picture.cells) paint(band, cells);
    for (const Box& box : picture.boxes) band.fill(box.x, box.y, box.width, box.height, box.colour);
    for (const Stroke& stroke : picture.strokes) paint(band, stroke);
    for (const Wedge& wedge : picture.wedges) paint(band, wedge);
    for (const PlacedLabel& label : labels) paint(band, label, font);
    png.write_rows(band.rgb);
  }
  png.finish();
}

}  // namespace sightline::format
