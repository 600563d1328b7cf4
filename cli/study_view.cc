#include "cli/study_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "cli/display_text.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

using analysis::Column;
using analysis::Table;
using engine::StudyNeed;

constexpr int kGap = 2;  // columns of the terminal between those of a table
constexpr int kHeadingWidth = 8;
constexpr double kWrittenOut = 1e7;  // numbers below it are written without a power of ten

// A column as it is printed.
struct PrintedColumn {
  std::vector<std::string> heading, cells;
  int width = 0;
  bool left = false;
};

void add_line(PrintedColumn& column, const std::string& line) {
  column.heading.push_back(line);
  column.width = std::max(column.width, display_width(line));
}

// Breaks a heading into lines as narrow as its words and the numbers below allow.
void add_heading(const std::string& heading, PrintedColumn& column) {
  const std::size_t room = static_cast<std::size_t>(std::max(column.width, kHeadingWidth));
  std::string line;
  for (std::size_t at = 0; at < heading.size();) {
    const std::size_t end = std::min(heading.find(' ', at), heading.size());
    const std::string word = heading.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > room) {
      add_line(column, line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  add_line(column, line);
}

PrintedColumn printed(const Column& column) {
  PrintedColumn out;
  for (const double value : column.values) {
    out.cells.push_back(study_number(value, column.digits));
    out.width = std::max(out.width, static_cast<int>(out.cells.back().size()));
  }
  add_heading(column.heading, out);
  if (!column.unit.empty()) add_line(out, column.unit);
  return out;
}

std::vector<PrintedColumn> printed(const Table& table, bool utf8) {
  std::vector<PrintedColumn> columns;
  if (!table.labels.empty()) {
    PrintedColumn& labels = columns.emplace_back();
    labels.left = true;
    for (const std::string& label : table.labels) {
      labels.cells.push_back(displayable(label, utf8));
      labels.width = std::max(labels.width, display_width(labels.cells.back()));
    }
  }
  for (const Column& column : table.columns) columns.push_back(printed(column));
  return columns;
}

class TableView {
 public:
  TableView(Painter& painter, std::vector<PrintedColumn> columns) : painter_(painter), columns_(std::move(columns)) {}

  void add() {
    for (std::size_t next = 1; next < columns_.size() || next == 1;) {
      std::vector<const PrintedColumn*> shown = {&columns_.front()};
      int used = columns_.front().width;
      while (next < columns_.size()) {
        used += kGap + columns_[next].width;
        if (used > painter_.terminal().width && shown.size() > 1) break;
        shown.push_back(&columns_[next++]);
      }
      add_part(shown);
      if (next >= columns_.size()) break;
    }
  }

 private:
  void add_part(const std::vector<const PrintedColumn*>& columns) {
    std::size_t lines = 0, rows = 0;
    for (const PrintedColumn* column : columns) {
      lines = std::max(lines, column->heading.size());
      rows = std::max(rows, column->cells.size());
    }
    for (std::size_t line = 0; line < lines; ++line) {
      painter_
          .soft(joined(columns,
                       [&](const PrintedColumn& column) {
                         return line < column.heading.size() ? column.heading[line] : std::string();
                       }))
          .newline();
    }
    for (std::size_t row = 0; row < rows; ++row) {
      painter_
          .text(joined(columns,
                       [&](const PrintedColumn& column) {
                         return row < column.cells.size() ? column.cells[row] : std::string();
                       }))
          .newline();
    }
  }

  template <class Cell>
  std::string joined(const std::vector<const PrintedColumn*>& columns, const Cell& cell) const {
    std::string line;
    const bool utf8 = painter_.terminal().utf8;
    for (const PrintedColumn* column : columns) {
      line += std::string(line.empty() ? 0 : kGap, ' ');
      line +=
          column->left ? pad_right(cell(*column), column->width, utf8) : pad_left(cell(*column), column->width, utf8);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  Painter& painter_;
  std::vector<PrintedColumn> columns_;
};

const char* need_text(StudyNeed need, const char* welcome, const char* needed) {
  return need == StudyNeed::none ? "" : need == StudyNeed::welcome ? welcome : needed;
}

}  // namespace

std::string study_number(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (digits >= 0) return fmt::format("{:.{}f}", value, digits);
  // A number of some digits; one of a few more is written out, as 11600 reads better than 1.16e+04.
  const std::string rounded = fmt::format("{:.{}e}", value, -digits - 1);
  const double size = std::abs(std::strtod(rounded.c_str(), nullptr));
  if (size >= std::pow(10, -digits - 1) && size < kWrittenOut)
    return fmt::format("{:.0f}", std::strtod(rounded.c_str(), nullptr));
  return fmt::format("{:.{}g}", value, -digits);
}

void add_study_list(Painter& painter, std::span<const engine::StudyEntry> studies) {
  for (const engine::StudyEntry& study : studies) {
    painter.accent(fmt::format("{:<10}", study.name)).text(study.claim).newline();
    const std::string model = study.decoder ? "needs a model that writes text (-m)"
                                            : need_text(study.model, "-m MODEL adds it", "of the model of -m");
    const std::string text = need_text(study.text, "TEXT adds it", "needs a TEXT");
    const std::string both = model + (model.empty() || text.empty() ? "" : "; ") + text;
    painter.spaces(10).soft(both.empty() ? "needs no model" : both).newline();
  }
  painter.newline().note("sightline study NAME measures one; docs/study.md says how, and what it does not show.");
}

void add_study_view(Painter& painter, const analysis::Study& study, const std::string& model) {
  const bool utf8 = painter.terminal().utf8;
  painter.paragraph({{Ink::accent, study.name}, {Ink::plain, ": " + study.claim}});
  if (!model.empty()) painter.note("on " + displayable(model, utf8));
  for (const std::string& line : study.settings) painter.note(displayable(line, utf8));
  for (const Table& table : study.tables) {
    painter.newline().paragraph({{Ink::bold, displayable(table.title, utf8)}});
    TableView(painter, printed(table, utf8)).add();
  }
  if (!study.figures.empty()) painter.newline();
  for (const analysis::Figure& figure : study.figures) {
    const std::string number = study_number(figure.value, figure.digits);
    painter.paragraph({{Ink::plain, displayable(figure.name, utf8) + ": "},
                       {Ink::bold, number + (figure.unit.empty() ? "" : " " + figure.unit)}});
  }
  if (!study.notes.empty()) painter.newline();
  for (const std::string& note : study.notes) painter.note(displayable(note, utf8));
  if (!study.complete) painter.note(stopped_note("measurements"));
}

}  // namespace sightline::cli
