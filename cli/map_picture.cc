#include "cli/map_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/picture_parts.h"

namespace sightline::cli {
namespace {

using format::Label;
using format::Picture;
using format::Theme;

constexpr std::int64_t kMapSide = 2400;     // pixels that the cells of a mid-sized map fill
constexpr std::int64_t kLargestCell = 72;   // reads as 36
constexpr std::int64_t kNumberedCell = 56;  // from here on a cell holds its weight
constexpr std::int64_t kGapCell = 12;       // from here on cells stand apart
constexpr double kSmallestLabel = 15;       // pixels; below it items are named sparsely
constexpr double kSparseStep = 36;          // pixels between sparse labels
constexpr double kLabelReach = 300;         // longest label

// Where everything stands once cell size and labels are known.
struct Layout {
  std::int64_t cell = 1, gap = 0;
  double label_size = kTextSize;
  std::int64_t step = 1;           // every how many items are named
  std::int64_t left = 0, top = 0;  // of the cells
};

std::int64_t side_of(const Weights& weights) { return std::max<std::int64_t>(1, std::max(weights.rows, weights.cols)); }

Layout choose_sizes(const Weights& weights) {
  Layout layout;
  layout.cell = std::clamp<std::int64_t>(kMapSide / side_of(weights), 1, kLargestCell);
  layout.gap = layout.cell >= kGapCell ? 2 : 0;
  layout.label_size = std::min(kTextSize, 0.8 * static_cast<double>(layout.cell));
  if (layout.label_size < kSmallestLabel) {
    layout.label_size = kSmallSize;
    layout.step = static_cast<std::int64_t>(std::ceil(kSparseStep / static_cast<double>(layout.cell)));
  }
  return layout;
}

// The text that stands at item `i` of the axis; a sparse label also says which item it is.
std::string label_text(const std::vector<AxisLabel>& axis, std::int64_t i, const Layout& layout) {
  const std::string& text = axis[static_cast<std::size_t>(i)].text;
  return layout.step == 1 ? text : fmt::format("{} {}", i + 1, text);
}

class MapDrawing {
 public:
  MapDrawing(const MapSheet& sheet, format::Font& font)
      : sheet_(sheet),
        font_(font),
        factor_(pooling_factor(sheet.weights, kMaxMapSide)),
        weights_(pooled(sheet.weights, factor_, factor_)),
        scale_{sheet.weights.cols},
        layout_(choose_sizes(weights_)) {}

  Picture draw() {
    const std::int64_t header = add_header(picture_, sheet_.title, lines());
    layout_.left = kMargin + reach(sheet_.rows) + 16;
    layout_.top = header + static_cast<std::int64_t>(reach(sheet_.cols) * 0.72) + 64;
    const std::int64_t right = layout_.left + weights_.cols * layout_.cell,
                       bottom = layout_.top + weights_.rows * layout_.cell;
    picture_.cells.push_back(colour_cells(weights_, scale_, layout_.left, layout_.top, layout_.cell, layout_.gap));
    add_row_labels();
    add_column_labels();
    add_axis_names(header);
    if (layout_.cell >= kNumberedCell) add_numbers();
    picture_.width = right + static_cast<std::int64_t>(reach(sheet_.cols) * 0.72) + kMargin;
    add_footer(picture_, font_, scale_, bottom + 48);
    return std::move(picture_);
  }

 private:
  std::vector<std::string> lines() const {
    const std::string exact =
        factor_ == 1 ? "every weight exact" : fmt::format("each pixel the mean of {0} × {0} weights", factor_);
    std::vector<std::string> all = {fmt::format("{}: row looks at column, {} × {} {}, {}", sheet_.model,
                                                sheet_.weights.rows, sheet_.weights.cols, sheet_.unit, exact)};
    all.insert(all.end(), sheet_.notes.begin(), sheet_.notes.end());
    return all;
  }

  // Pixels that the longest label of an axis needs.
  std::int64_t reach(const std::vector<AxisLabel>& axis) {
    double most = 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(axis.size()); i += item_step()) {
      most = std::max(most, font_.width(fitted(axis, i), {layout_.label_size}));
    }
    return static_cast<std::int64_t>(std::ceil(most));
  }

  std::int64_t item_step() const { return layout_.step * factor_; }
  std::string fitted(const std::vector<AxisLabel>& axis, std::int64_t i) {
    return fit(font_, label_text(axis, i, layout_), {layout_.label_size}, kLabelReach);
  }
  // Middle of the cell that shows item `i`.
  double middle(std::int64_t i) const {
    return (static_cast<double>(i / factor_) + 0.5) * static_cast<double>(layout_.cell) -
           static_cast<double>(layout_.gap) / 2;
  }
  static format::Rgb label_colour(const AxisLabel& label) {
    const format::Palette& palette = format::palette(Theme::light);
    return label.quiet ? palette.soft : palette.ink;
  }

  void add_row_labels() {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(sheet_.rows.size()); i += item_step()) {
      const double y = static_cast<double>(layout_.top) + middle(i);
      picture_.labels.push_back({fitted(sheet_.rows, i),
                                 static_cast<double>(layout_.left) - 14,
                                 y + 0.36 * layout_.label_size,
                                 {layout_.label_size},
                                 label_colour(sheet_.rows[static_cast<std::size_t>(i)]),
                                 Label::Anchor::end});
      if (layout_.step > 1) add_tick(layout_.left - 10, static_cast<std::int64_t>(y), 8, 1);
    }
  }

  void add_column_labels() {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(sheet_.cols.size()); i += item_step()) {
      const double x = static_cast<double>(layout_.left) + middle(i);
      picture_.labels.push_back({fitted(sheet_.cols, i),
                                 x + 0.3 * layout_.label_size,
                                 static_cast<double>(layout_.top) - 14,
                                 {layout_.label_size, false, 45},
                                 label_colour(sheet_.cols[static_cast<std::size_t>(i)])});
      if (layout_.step > 1) add_tick(static_cast<std::int64_t>(x), layout_.top - 10, 1, 8);
    }
  }

  void add_tick(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height) {
    picture_.boxes.push_back({x, y, width, height, format::palette(Theme::light).soft});
  }

  // Which axis looks and which is looked at: one left of the column labels, the other above them.
  void add_axis_names(std::int64_t header) {
    const format::Rgb colour = format::palette(Theme::light).gaze;
    const format::TextStyle style{kSmallSize, true};
    const auto left = static_cast<double>(layout_.left);
    picture_.labels.push_back(
        {"looks ↓", left - 14, static_cast<double>(layout_.top) - 14, style, colour, Label::Anchor::end});
    picture_.labels.push_back({"looked at →", left, static_cast<double>(header) + 12, style, colour});
  }

  void add_numbers() {
    std::vector<float> read(static_cast<std::size_t>(weights_.rows * weights_.cols));
    weights_.read(0, weights_.rows, read);
    for (std::int64_t i = 0; i < weights_.rows * weights_.cols; ++i)
      add_number(i / weights_.cols, i % weights_.cols, read[i]);
  }

  void add_number(std::int64_t row, std::int64_t col, float weight) {
    add_weight_number(picture_, scale_, weight, static_cast<double>(layout_.left) + middle(col),
                      static_cast<double>(layout_.top) + middle(row));
  }

  const MapSheet& sheet_;
  format::Font& font_;
  std::int64_t factor_;  // items a cell, a side
  Weights weights_;
  Scale scale_;
  Layout layout_;
  Picture picture_;
};

}  // namespace

Picture draw_map(const MapSheet& sheet, format::Font& font) { return MapDrawing(sheet, font).draw(); }

}  // namespace sightline::cli
