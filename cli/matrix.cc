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
constexpr std::int64_t kMostRows = 48;  // of chosen rows that are shown one by one where columns are pooled

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

int digits_of(std::int64_t number) { return static_cast<int>(std::to_string(number).size()); }

// For more items than columns: labels get a number, and cells become means. A cell is twice as high as wide, so that
// rows of a whole map are pooled by twice the factor and its diagonal stays one.
Layout numbered_layout(int width, int widest_label, std::int64_t of, const Weights& weights) {
  Layout layout;
  const int numbered = std::min(kLongestRowLabel, widest_label) + digits_of(of) + 1;
  const int count = static_cast<int>(weights.cols);
  layout.label = std::min(numbered, std::max(width - 1 - count, width / 4));
  const int room = width - layout.label - 1;
  if (count > room) {
    const Weights columns{1, weights.cols, {}, {}, weights.at_step};
    layout.col_factor = pooling_factor(columns, room);
    if (weights.rows > kMostRows) layout.row_factor = 2 * layout.col_factor;
  }
  return layout;
}

Layout choose_layout(const Painter& painter, const std::vector<std::string>& row_labels,
                     const std::vector<std::string>& col_labels, std::int64_t of, const Weights& weights) {
  const int count = static_cast<int>(weights.cols), width = painter.terminal().width;
  const int row_longest = widest(row_labels), longest = widest(col_labels);
  Layout layout;
  layout.label = std::min(kLongestRowLabel, row_longest);
  const int most = std::min(kWidestCell, (width - layout.label - 1) / std::max(1, count));
  if (most < 2) return numbered_layout(width, row_longest, of, weights);
  const bool words_fit = most >= 4 && longest < most;
  layout.cell = words_fit ? std::max(4, longest + 1) : std::min(4, most);
  layout.header = words_fit ? Layout::Header::words : Layout::Header::letters;
  layout.digits = layout.cell >= 3 || painter.coloured();
  return layout;
}

// Column of a cell in which its last digit stands, and with it the letters of the label above.
int digit_column(int cell) { return cell < 3 ? cell - 1 : (cell - 3) / 2 + 2; }

std::vector<std::string> labels_of(const Painter& painter, const ShownItems& shown, bool numbered) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < shown.items->size(); ++i) {
    const std::string label = item_label((*shown.items)[i], painter);
    labels.push_back(numbered ? fmt::format("{} {}", shown.numbers[i], label) : label);
  }
  return labels;
}

class Matrix {
 public:
  Matrix(Painter& painter, const ShownItems& rows, const ShownItems& cols, const Weights& weights,
         std::string_view unit)
      : painter_(painter),
        rows_(rows),
        cols_(cols),
        unit_(unit),
        scale_{cols.of},
        row_labels_(labels_of(painter, rows, !rows.all())),
        col_labels_(labels_of(painter, cols, false)),
        layout_(choose_layout(painter, row_labels_, col_labels_, rows.of, weights)),
        weights_(pooled(weights, layout_.row_factor, layout_.col_factor)) {}

  void add() {
    add_header();
    std::vector<float> row(static_cast<std::size_t>(weights_.cols));
    for (std::int64_t i = 0; i < weights_.rows; ++i) {
      weights_.read(i, i + 1, row);
      add_row_label(i);
      for (std::int64_t col = 0; col < weights_.cols; ++col) {
        weights_.hides(i, col) ? add_hidden() : add_cell(row[static_cast<std::size_t>(col)]);
      }
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
    for (std::size_t i = 0; i < col_labels_.size(); ++i) {
      const std::string label = fit_columns(col_labels_[i], layout_.cell - 1, utf8());
      const int left = std::max(0, digit_column(layout_.cell) + 1 - display_width(label));
      named((*cols_.items)[i],
            pad_right(std::string(static_cast<std::size_t>(left), ' ') + label, layout_.cell, utf8()));
    }
    painter_.newline();
  }

  // Each label downwards, letter under letter, all ending at the grid.
  void add_letter_header() {
    std::vector<std::vector<std::string>> letters;
    std::size_t height = 0;
    for (const std::string& label : col_labels_) {
      letters.push_back(split_letters(label));
      height = std::max(height, letters.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      painter_.spaces(layout_.label + 1);
      for (std::size_t i = 0; i < letters.size(); ++i) {
        const std::size_t above = height - letters[i].size();
        add_letter((*cols_.items)[i], line < above ? " " : letters[i][line - above]);
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
      const std::string number = std::to_string(cols_.numbers[static_cast<std::size_t>(col * layout_.col_factor)]);
      const auto at = static_cast<std::size_t>(layout_.label + 1 + col * layout_.cell);
      numbers.resize(at, ' ');
      if (at + number.size() <= room) numbers += number;
    }
    painter_.soft(numbers).newline();
  }

  void add_row_label(std::int64_t row) {
    const auto item = static_cast<std::size_t>(row * layout_.row_factor);
    const bool numbered = layout_.header == Layout::Header::numbers && rows_.all();
    const std::string label = numbered ? fmt::format("{} {}", item + 1, row_labels_[item]) : row_labels_[item];
    named((*rows_.items)[item], pad_left(label, layout_.label, utf8()));
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

  // Without a tint, so that it is no weight of 0.
  void add_hidden() {
    const bool mark = layout_.digits && layout_.cell >= 2;
    painter_.soft(mark ? pad_right(pad_left(painter_.glyph("·", "."), digit_column(layout_.cell) + 1, utf8()),
                                   layout_.cell, utf8())
                       : std::string(static_cast<std::size_t>(layout_.cell), ' '));
  }

  void add_legend() {
    if (layout_.digits) {
      painter_.note(fmt::format("in each cell: % of the row's weight (blank: under half a per cent{})",
                                weights_.hides() ? fmt::format("; {}: not seen", painter_.glyph("·", ".")) : ""));
      return;
    }
    for (const double weight :
         scale_.long_text() ? std::vector<double>{0.001, 0.01, 0.1, 1} : std::vector<double>{0.05, 0.2, 0.5, 1}) {
      painter_.shade(scale_.place(weight), 2);
      painter_.soft(fmt::format("{:g}% ", weight * 100));
    }
    painter_.newline();
    if (layout_.col_factor > 1) {
      painter_.note(fmt::format("{} {}: a cell is the mean weight of {} {} {} of them", cols_.items->size(), unit_,
                                layout_.row_factor, painter_.glyph("×", "x"), layout_.col_factor));
    }
  }

  Painter& painter_;
  const ShownItems &rows_, &cols_;
  std::string unit_;
  Scale scale_;
  std::vector<std::string> row_labels_, col_labels_;
  Layout layout_;
  Weights weights_;
};

}  // namespace

void add_matrix(Painter& painter, const ShownItems& rows, const ShownItems& cols, const Weights& weights,
                std::string_view unit) {
  Matrix(painter, rows, cols, weights, unit).add();
}

std::int64_t digit_columns(const Painter& painter, const ShownItems& rows) {
  const int label = std::min(kLongestRowLabel, widest(labels_of(painter, rows, !rows.all())));
  return std::max<std::int64_t>(1, (painter.terminal().width - label - 1) / 4);
}

}  // namespace sightline::cli
