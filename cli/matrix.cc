#include "cli/matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

constexpr int kLongestRowLabel = 14, kTallestLabel = 10;
constexpr int kWidestCell = 8;

// How a map is laid out on the terminal.
struct Layout {
  enum class Header { words, letters, numbers };
  int label = 0;        // columns of the row labels
  int cell = 1;         // columns a cell
  bool digits = false;  // cells hold per cent
  Header header = Header::numbers;
  std::int64_t row_factor = 1, col_factor = 1;  // items a cell, where means are shown
};

int widest(const std::vector<std::string>& labels) {
  int most = 0;
  for (const std::string& label : labels) most = std::max(most, display_width(label));
  return most;
}

// For more items than columns: labels get a number, and cells become means. A cell is twice as high as wide, so rows
// are pooled by twice the factor and the diagonal stays one.
Layout numbered_layout(int width, int widest_label, int count) {
  Layout layout;
  const int numbered = std::min(kLongestRowLabel, widest_label) + static_cast<int>(std::to_string(count).size()) + 1;
  layout.label = std::min(numbered, std::max(width - 1 - count, width / 4));
  const int room = width - layout.label - 1;
  if (count > room) {
    layout.col_factor = (count + room - 1) / room;
    layout.row_factor = 2 * layout.col_factor;
  }
  return layout;
}

Layout choose_layout(const Painter& painter, const std::vector<std::string>& labels) {
  const auto count = static_cast<int>(std::min<std::size_t>(labels.size(), 1 << 20));
  const int longest = widest(labels), width = painter.terminal().width;
  Layout layout;
  layout.label = std::min(kLongestRowLabel, longest);
  const int most = std::min(kWidestCell, (width - layout.label - 1) / std::max(1, count));
  if (most < 2) return numbered_layout(width, longest, count);
  const bool words_fit = most >= 4 && longest < most;
  layout.cell = words_fit ? std::max(4, longest + 1) : std::min(4, most);
  layout.header = words_fit ? Layout::Header::words : Layout::Header::letters;
  layout.digits = layout.cell >= 3 || painter.coloured();
  return layout;
}

// Column of a cell in which its last digit stands, and with it the letters of the label above.
int digit_column(int cell) { return cell < 3 ? cell - 1 : (cell - 3) / 2 + 2; }

class Matrix {
 public:
  Matrix(Painter& painter, const engine::Axis& axis, const Weights& weights, std::string_view unit)
      : painter_(painter), axis_(axis), unit_(unit), scale_{weights.cols} {
    for (const engine::AxisItem& item : axis) labels_.push_back(item_label(item, painter));
    layout_ = choose_layout(painter, labels_);
    weights_ = pooled(weights, layout_.row_factor, layout_.col_factor);
  }

  void add() {
    add_header();
    std::vector<float> row(static_cast<std::size_t>(weights_.cols));
    for (std::int64_t i = 0; i < weights_.rows; ++i) {
      weights_.read(i, i + 1, row);
      add_row_label(i);
      for (const float weight : row) add_cell(weight);
      painter_.newline();
    }
    add_legend();
  }

 private:
  bool utf8() const { return painter_.terminal().utf8; }

  void add_header() {
    switch (layout_.header) {
      case Layout::Header::words:
        add_word_header();
        break;
      case Layout::Header::letters:
        add_letter_header();
        break;
      case Layout::Header::numbers:
        add_number_header();
        break;
    }
  }

  void add_word_header() {
    painter_.spaces(layout_.label + 1);
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const std::string label = fit_columns(labels_[i], layout_.cell - 1, utf8());
      const int left = std::max(0, digit_column(layout_.cell) + 1 - display_width(label));
      named(axis_[i], pad_right(std::string(static_cast<std::size_t>(left), ' ') + label, layout_.cell, utf8()));
    }
    painter_.newline();
  }

  // Each label downwards, letter under letter, all ending at the grid.
  void add_letter_header() {
    std::vector<std::vector<std::string>> letters;
    std::size_t height = 0;
    for (const std::string& label : labels_) {
      letters.push_back(split_letters(label));
      height = std::max(height, letters.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      painter_.spaces(layout_.label + 1);
      for (std::size_t i = 0; i < letters.size(); ++i) {
        const std::size_t above = height - letters[i].size();
        add_letter(axis_[i], line < above ? " " : letters[i][line - above]);
      }
      painter_.newline();
    }
  }

  std::vector<std::string> split_letters(std::string_view label) const {
    std::vector<std::string> letters;
    while (!label.empty()) {
      std::string letter = take_columns(label, 1);
      if (letter.empty()) letter = take_columns(label, 2);
      if (letters.size() == kTallestLabel) {
        letters.back() = painter_.glyph("⋮", ":");
        break;
      }
      letters.push_back(std::move(letter));
    }
    return letters;
  }

  void add_letter(const engine::AxisItem& item, const std::string& letter) {
    const int width = display_width(letter), left = std::max(0, digit_column(layout_.cell) + 1 - width);
    painter_.spaces(left);
    named(item, letter);
    painter_.spaces(layout_.cell - left - width);
  }

  // A number over every tenth item, as far as they do not touch.
  void add_number_header() {
    std::string numbers(static_cast<std::size_t>(layout_.label + 1), ' ');
    const auto room = numbers.size() + static_cast<std::size_t>(weights_.cols * layout_.cell);
    for (std::int64_t col = 0; col < weights_.cols; col += 10) {
      const std::string number = std::to_string(col * layout_.col_factor + 1);
      const auto at = static_cast<std::size_t>(layout_.label + 1 + col * layout_.cell);
      numbers.resize(at, ' ');
      if (at + number.size() <= room) numbers += number;
    }
    painter_.soft(numbers).newline();
  }

  void add_row_label(std::int64_t row) {
    const auto item = static_cast<std::size_t>(row * layout_.row_factor);
    const std::string label =
        layout_.header == Layout::Header::numbers ? fmt::format("{} {}", item + 1, labels_[item]) : labels_[item];
    named(axis_[item], pad_left(label, layout_.label, utf8()));
    painter_.spaces(1);
  }

  // Labels of special tokens are quiet.
  void named(const engine::AxisItem& item, std::string_view label) {
    if (item.special) {
      painter_.soft(label);
    } else {
      painter_.text(label);
    }
  }

  void add_cell(float weight) {
    const double place = scale_.place(weight);
    if (!layout_.digits) {
      painter_.shade(place, layout_.cell);
      return;
    }
    const int width = std::min(layout_.cell, digit_column(layout_.cell) + 1);
    painter_.tinted(place, pad_right(percent(weight, width), layout_.cell, utf8()));
  }

  void add_legend() {
    if (layout_.digits) {
      painter_.note("in each cell: % of the row's weight (blank: under half a per cent)");
      return;
    }
    for (const double weight :
         scale_.long_text() ? std::vector<double>{0.001, 0.01, 0.1, 1} : std::vector<double>{0.05, 0.2, 0.5, 1}) {
      painter_.shade(scale_.place(weight), 2);
      painter_.soft(fmt::format("{:g}% ", weight * 100));
    }
    painter_.newline();
    if (layout_.col_factor > 1) {
      painter_.note(fmt::format("{} {}: a cell is the mean weight of {} {} {} of them", axis_.size(), unit_,
                                layout_.row_factor, painter_.glyph("×", "x"), layout_.col_factor));
    }
  }

  Painter& painter_;
  const engine::Axis& axis_;
  std::string unit_;
  Scale scale_;
  std::vector<std::string> labels_;
  Layout layout_;
  Weights weights_;
};

}  // namespace

void add_matrix(Painter& painter, const engine::Axis& axis, const Weights& weights, std::string_view unit) {
  Matrix(painter, axis, weights, unit).add();
}

}  // namespace sightline::cli
