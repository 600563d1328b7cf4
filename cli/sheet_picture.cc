#include <fmt/core.h>

#include <algorithm>

#include "cli/map_picture.h"
#include "cli/picture_parts.h"

namespace sightline::cli {
namespace {

using format::Label;
using format::Picture;
using format::Theme;

constexpr std::int64_t kTileSide = 224;      // pixels a tile of a short text fills, about
constexpr std::int64_t kMostTileSide = 256;  // and of a long one at most
constexpr std::int64_t kMostAcross = 8192;   // pixels of all tiles of a layer
constexpr std::int64_t kTileGap = 28, kTileFoot = 44, kMark = 4;

class SheetDrawing {
 public:
  SheetDrawing(const HeadSheet& sheet, format::Font& font) : sheet_(sheet), font_(font) {
    const Weights& first = sheet.tiles.front().weights;
    const std::int64_t most = std::clamp<std::int64_t>(kMostAcross / sheet.heads, 32, kMostTileSide);
    factor_ = pooling_factor(first, most);
    const std::int64_t items = std::max<std::int64_t>(1, (std::max(first.rows, first.cols) + factor_ - 1) / factor_);
    cell_ = std::max<std::int64_t>(1, std::min(kTileSide, most) / items);
    side_ = cell_ * items;
    scale_.keys = first.cols;
  }

  Picture draw() {
    const std::int64_t header = add_header(picture_, sheet_.title, lines());
    const std::int64_t left = kMargin + 64, top = header + 64;
    add_numbering(left, top);
    for (std::int64_t layer = 0; layer < sheet_.layers; ++layer) {
      for (std::int64_t head = 0; head < sheet_.heads; ++head) {
        add_tile(sheet_.tiles[static_cast<std::size_t>(layer * sheet_.heads + head)], left + head * across(),
                 top + layer * down());
      }
    }
    picture_.width = left + sheet_.heads * across() - kTileGap + kMargin;
    add_footer(picture_, font_, scale_, top + sheet_.layers * down() + 12);
    return std::move(picture_);
  }

 private:
  std::int64_t across() const { return side_ + kTileGap; }
  std::int64_t down() const { return side_ + kTileGap + kTileFoot; }

  std::vector<std::string> lines() const {
    const std::string exact =
        factor_ == 1 ? "every weight exact" : fmt::format("each cell the mean of {0} × {0} weights", factor_);
    std::vector<std::string> all = {
        fmt::format("{}: a tile is one head's map of {} {}, row looks at column, {}", sheet_.model,
                    sheet_.tiles.front().weights.cols, sheet_.unit, exact),
        "Below each: mean entropy of its rows in nats; the bar is full where a head looks evenly at all tokens"};
    all.insert(all.end(), sheet_.notes.begin(), sheet_.notes.end());
    return all;
  }

  void add_numbering(std::int64_t left, std::int64_t top) {
    const format::Rgb colour = format::palette(Theme::light).soft;
    for (std::int64_t head = 0; head < sheet_.heads; ++head) {
      const double x = static_cast<double>(left + head * across()) + static_cast<double>(side_) / 2;
      picture_.labels.push_back(
          {fmt::format("H{}", head + 1), x, static_cast<double>(top) - 18, {kTextSize}, colour, Label::Anchor::middle});
    }
    for (std::int64_t layer = 0; layer < sheet_.layers; ++layer) {
      const double y = static_cast<double>(top + layer * down()) + static_cast<double>(side_) / 2 + 9;
      picture_.labels.push_back(
          {fmt::format("L{}", layer + 1), static_cast<double>(left) - 18, y, {kTextSize}, colour, Label::Anchor::end});
    }
  }

  void add_tile(const SheetTile& tile, std::int64_t x, std::int64_t y) {
    const format::Palette& palette = format::palette(Theme::light);
    frame(x, y, tile.marked ? kMark : 1, tile.marked ? palette.ink : palette.line);
    picture_.cells.push_back(colour_cells(pooled(tile.weights, factor_, factor_), scale_, x, y, cell_, 0));
    const std::string number = fmt::format("{:.2f}", tile.entropy);
    const auto bar = static_cast<std::int64_t>(std::clamp(tile.spread, 0.0, 1.0) * static_cast<double>(side_));
    picture_.boxes.push_back({x, y + side_ + 8, side_, 6, palette.line});
    picture_.boxes.push_back({x, y + side_ + 8, bar, 6, palette.soft});
    picture_.labels.push_back({number,
                               static_cast<double>(x + side_),
                               static_cast<double>(y + side_) + 38,
                               {kSmallSize},
                               palette.soft,
                               Label::Anchor::end});
    if (tile.marked) {
      picture_.labels.push_back(
          {"sharpest", static_cast<double>(x), static_cast<double>(y + side_) + 38, {kSmallSize, true}, palette.ink});
    }
  }

  // Lines around a tile, outside its cells.
  void frame(std::int64_t x, std::int64_t y, std::int64_t thick, format::Rgb colour) {
    const std::int64_t whole = side_ + 2 * thick;
    picture_.boxes.push_back({x - thick, y - thick, whole, thick, colour});
    picture_.boxes.push_back({x - thick, y + side_, whole, thick, colour});
    picture_.boxes.push_back({x - thick, y - thick, thick, whole, colour});
    picture_.boxes.push_back({x + side_, y - thick, thick, whole, colour});
  }

  const HeadSheet& sheet_;
  format::Font& font_;
  std::int64_t factor_ = 1, cell_ = 1, side_ = 1;
  Scale scale_;
  Picture picture_;
};

}  // namespace

Picture draw_heads(const HeadSheet& sheet, format::Font& font) { return SheetDrawing(sheet, font).draw(); }

}  // namespace sightline::cli
