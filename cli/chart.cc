#include "cli/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "cli/chart_axis.h"
#include "cli/picture_parts.h"

namespace sightline::cli {
namespace {

using analysis::Chart;
using analysis::ChartSeries;
using format::Label;
using format::Picture;
using format::Point;
using format::Rgb;
using format::Theme;

constexpr std::int64_t kPlotWidth = 1240, kPlotHeight = 560;
constexpr std::int64_t kHair = 2;                     // thickness of grid lines
constexpr double kLineWidth = 5, kLeaderWidth = 1.5;  // of a series, and from its end to its name
constexpr double kMark = 8;                           // half the height of a mark
constexpr std::size_t kMarkedPoints = 40;             // a series of more points is a line alone
constexpr double kNameGap = 44, kLongestName = 460;   // from the plot to the names of series; pixels of a name
constexpr double kDotStep = 12;                       // of leaders, within the plot
constexpr double kLineHeight = 30;                    // of names below one another
constexpr double kTitleLine = 54;                     // from line to line of the title

// Of Okabe and Ito 2008, which every kind of colour blindness tells apart; without their yellow and their sky blue,
// which are faint on paper. Marks differ as well.
constexpr Rgb kSeriesColours[] = {{0, 114, 178},   {213, 94, 0},  {0, 158, 115},
                                  {204, 121, 167}, {230, 159, 0}, {0, 0, 0}};
constexpr std::size_t kColours = std::size(kSeriesColours);

// More series than there are colours to tell apart are an ordered crowd (the layers of a model): from light to dark.
Rgb series_colour(std::size_t index, std::size_t count) {
  if (count <= kColours) return kSeriesColours[index];
  return format::weight_colour(0.3 + 0.7 * static_cast<double>(index) / static_cast<double>(count - 1), Theme::light);
}

std::vector<std::string> wrapped(format::Font& font, const std::string& text, const format::TextStyle& style,
                                 double most) {
  std::vector<std::string> lines;
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::istringstream words(paragraph);
    std::string line;
    for (std::string word; words >> word;) {
      const std::string longer = line.empty() ? word : line + " " + word;
      if (line.empty() || font.width(longer, style) <= most) {
        line = longer;
        continue;
      }
      lines.push_back(std::exchange(line, word));
    }
    lines.push_back(line);
  }
  for (std::string& line : lines) line = fit(font, line, style, most);
  return lines;
}

// Heights for lines of text that would stand at `wanted`, ascending, moved as little as keeps them apart and within
// [low, high]; they have room there.
std::vector<double> spread(std::vector<double> wanted, double low, double high) {
  double free = low;
  for (double& y : wanted) free = (y = std::max(y, free)) + kLineHeight;
  free = high;
  for (auto y = wanted.rbegin(); y != wanted.rend(); ++y) free = (*y = std::min(*y, free)) - kLineHeight;
  return wanted;
}

std::vector<double> all_values(const Chart& chart, std::vector<double> ChartSeries::*side) {
  std::vector<double> all;
  for (const ChartSeries& series : chart.series) {
    all.insert(all.end(), (series.*side).begin(), (series.*side).end());
  }
  return all;
}

constexpr std::size_t kDisc = 0, kRing = 2;  // marks of a crowd, and of what it is held against

// A mark around `at`; which of four it is depends on the series, so that lines can be told apart in grey.
void add_mark(Picture& picture, const Point& at, std::size_t shape, Rgb colour) {
  const auto [x, y] = at;
  const double half = kMark;
  switch (shape % 4) {
    case kDisc:
      picture.strokes.push_back({{at}, 2 * half, colour});
      break;
    case 1:
      picture.wedges.push_back(
          {{{{x, y - 1.2 * half}, {x + 1.2 * half, y + half}, {x - 1.2 * half, y + half}}}, colour});
      break;
    case kRing:
      picture.strokes.push_back({{at}, 2.2 * half, colour});
      picture.strokes.push_back({{at}, half, colours().paper});
      break;
    default:
      picture.strokes.push_back({{{x - half, y - half}, {x + half, y + half}}, 4, colour});
      picture.strokes.push_back({{{x - half, y + half}, {x + half, y - half}}, 4, colour});
  }
}

// One chart, its plot's top left at (left, top).
class ChartDrawing {
 public:
  ChartDrawing(const Chart& chart, std::int64_t left, format::Font& font, Picture& picture)
      : chart_(chart),
        x_(all_values(chart, &ChartSeries::x), chart.x.logarithmic, chart.x.numbered),
        y_(all_values(chart, &ChartSeries::y), chart.y.logarithmic),
        left_(left),
        font_(font),
        picture_(picture) {}

  // Pixels left of the plot.
  static double reach(const Chart& chart, format::Font& font) {
    const AxisScale axis(all_values(chart, &ChartSeries::y), chart.y.logarithmic);
    double most = 0;
    for (const Tick& tick : axis.ticks()) {
      most = std::max(most, font.width(tick.text, {kSmallSize}));
    }
    return most + 16;
  }

  // Draws from `y` down, and returns where it ends.
  std::int64_t draw(std::int64_t y) {
    label(chart_.title, kMargin, static_cast<double>(y) + 28, {kTextSize, true}, colours().ink);
    label(chart_.y.title, kMargin, static_cast<double>(y) + 70, {kSmallSize}, colours().soft);
    top_ = y + 92;
    add_grid();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) add_series(i);
    add_names();
    const double base = static_cast<double>(top_ + kPlotHeight);
    label(chart_.x.title, static_cast<double>(left_) + kPlotWidth / 2.0, base + 72, {kSmallSize}, colours().soft,
          Label::Anchor::middle);
    double note = base + 72;
    for (const std::string& text : notes()) label(text, kMargin, note += kLineStep, {kSmallSize}, colours().ink);
    return static_cast<std::int64_t>(note) + 24;
  }

 private:
  void label(const std::string& text, double x, double y, const format::TextStyle& style, Rgb colour,
             Label::Anchor anchor = Label::Anchor::start) {
    if (!text.empty()) picture_.labels.push_back({text, x, y, style, colour, anchor});
  }

  bool drawable(const ChartSeries& series, std::size_t i) const {
    return x_.holds(series.x[i]) && y_.holds(series.y[i]);
  }
  static std::size_t count(const ChartSeries& series) { return std::min(series.x.size(), series.y.size()); }
  double across(double value) const { return static_cast<double>(left_) + x_.place(value) * kPlotWidth; }
  double down(double value) const { return static_cast<double>(top_) + (1 - y_.place(value)) * kPlotHeight; }

  void add_grid() {
    for (const Tick& tick : y_.ticks()) {
      const double y = down(tick.value);
      picture_.boxes.push_back({left_, std::llround(y) - kHair / 2, kPlotWidth, kHair, colours().line});
      label(tick.text, static_cast<double>(left_) - 16, y + 0.36 * kSmallSize, {kSmallSize}, colours().soft,
            Label::Anchor::end);
    }
    for (const Tick& tick : x_.ticks()) {
      const double x = across(tick.value);
      picture_.boxes.push_back({std::llround(x) - kHair / 2, top_, kHair, kPlotHeight, colours().line});
      label(tick.text, x, static_cast<double>(top_ + kPlotHeight) + 34, {kSmallSize}, colours().soft,
            Label::Anchor::middle);
    }
    picture_.boxes.push_back({left_, top_ + kPlotHeight - kHair / 2, kPlotWidth, kHair, colours().soft});
    picture_.boxes.push_back({left_ - kHair / 2, top_, kHair, kPlotHeight, colours().soft});
  }

  // A value that has no place breaks the line: nothing is known of what lies between its neighbours.
  void add_series(std::size_t index) {
    const ChartSeries& series = chart_.series[index];
    const Rgb colour = colour_of(index);
    std::vector<Point> run;
    const auto end_run = [&] {
      if (run.size() > 1) picture_.strokes.push_back({run, kLineWidth, colour});
      if (run.size() == 1 || count(series) <= kMarkedPoints) {
        for (const Point& point : run) mark(point, index, colour);
      }
      run.clear();
    };
    for (std::size_t i = 0; i < count(series); ++i) {
      if (drawable(series, i)) {
        run.push_back({across(series.x[i]), down(series.y[i])});
      } else {
        end_run();
      }
    }
    end_run();
  }

  // How many of the first series are no baselines.
  std::size_t others(std::size_t first) const {
    const auto is_other = [](const ChartSeries& series) { return !series.baseline; };
    const auto begin = chart_.series.begin();
    return static_cast<std::size_t>(std::count_if(begin, begin + static_cast<std::ptrdiff_t>(first), is_other));
  }

  // Baselines are grey; the others have colours by their place among themselves.
  Rgb colour_of(std::size_t index) const {
    if (chart_.series[index].baseline) return colours().soft;
    return series_colour(others(index), others(chart_.series.size()));
  }

  void mark(const Point& at, std::size_t index, Rgb colour) {
    const bool crowd = others(chart_.series.size()) > kColours;
    const std::size_t shape = chart_.series[index].baseline ? kRing : crowd ? kDisc : others(index);
    add_mark(picture_, at, shape, colour);
  }

  // Where a series ends: its last point that is drawn.
  struct End {
    std::size_t index = 0;
    Point at;
  };

  std::vector<End> ends() const {
    std::vector<End> all;
    for (std::size_t index = 0; index < chart_.series.size(); ++index) {
      const ChartSeries& series = chart_.series[index];
      for (std::size_t i = count(series); i-- > 0;) {
        if (!drawable(series, i)) continue;
        all.push_back({index, {across(series.x[i]), down(series.y[i])}});
        break;
      }
    }
    std::ranges::stable_sort(all, {}, [](const End& end) { return end.at.y; });
    return all;
  }

  // Names at the ends of the lines, which need no legend to be looked up in. Of a crowd some go without.
  void add_names() {
    std::vector<End> named = ends();
    const auto room = static_cast<std::size_t>(kPlotHeight / kLineHeight) + 1;
    const std::size_t step = (named.size() + room - 1) / room;
    std::vector<double> wanted;
    for (std::size_t i = 0; i * step < named.size(); ++i) {
      named[i] = named[i * step];
      wanted.push_back(named[i].at.y);
    }
    const double low = static_cast<double>(top_), x = static_cast<double>(left_ + kPlotWidth) + kNameGap;
    const std::vector<double> heights = spread(wanted, low, low + kPlotHeight);
    for (std::size_t i = 0; i < heights.size(); ++i) {
      const std::size_t index = named[i].index;
      if (chart_.series[index].name.empty()) continue;
      const Rgb colour = colour_of(index);
      add_leader(named[i].at, {x, heights[i]}, colour);
      mark({x + kMark, heights[i]}, index, colour);
      label(fit(font_, chart_.series[index].name, {kSmallSize}, kLongestName), x + 4 * kMark,
            heights[i] + 0.36 * kSmallSize, {kSmallSize}, colours().ink);
    }
  }

  // From the end of a line to its name: dots in the plot, where a stroke would read as more of the line.
  void add_leader(const Point& from, const Point& to, Rgb colour) {
    const double edge = static_cast<double>(left_ + kPlotWidth);
    for (double x = from.x + 2 * kMark; x < edge; x += kDotStep) {
      picture_.strokes.push_back({{{x, from.y}}, 2 * kLeaderWidth, colour});
    }
    picture_.strokes.push_back({{{edge, from.y}, {to.x - 14, to.y}, to}, kLeaderWidth, colour});
  }

  // What the picture does not show.
  std::vector<std::string> notes() const {
    std::vector<std::string> lines;
    std::size_t missing = 0, hidden = 0, drawn = 0;
    for (const ChartSeries& series : chart_.series) {
      std::size_t here = 0;
      for (std::size_t i = 0; i < count(series); ++i) {
        here += drawable(series, i);
        const bool number = std::isfinite(series.x[i]) && std::isfinite(series.y[i]);
        missing += !number;
        hidden += number && !drawable(series, i);
      }
      if (here == 0 && !series.name.empty()) lines.push_back(series.name + ": no value that can be drawn");
      drawn += here;
    }
    if (drawn == 0) lines = {"There is nothing to draw."};
    if (hidden > 0) {
      lines.push_back(fmt::format("{} of {} points left out: a logarithmic axis has no place for 0 and below", hidden,
                                  drawn + missing + hidden));
    }
    return lines;
  }

  const Chart& chart_;
  AxisScale x_, y_;
  std::int64_t left_, top_ = 0;
  format::Font& font_;
  Picture& picture_;
};

double widest_name(std::span<const Chart> charts, format::Font& font) {
  double most = 0;
  for (const Chart& chart : charts) {
    for (const ChartSeries& series : chart.series) most = std::max(most, font.width(series.name, {kSmallSize}));
  }
  return std::min(most, kLongestName);
}

}  // namespace

Picture draw_charts(const std::string& title, std::span<const Chart> charts, const std::string& foot,
                    format::Font& font) {
  double left = kMargin;
  for (const Chart& chart : charts) left = std::max(left, kMargin + ChartDrawing::reach(chart, font));
  const double names = widest_name(charts, font), right = left + kPlotWidth + kNameGap + 4 * kMark + names;
  Picture picture;
  picture.density = kDensity;
  picture.title = title;
  picture.paper = colours().paper;
  picture.width = static_cast<std::int64_t>(std::ceil(right)) + kMargin;
  const double most = right - kMargin;
  double base = kMargin + 40 - kTitleLine;
  for (const std::string& line : wrapped(font, title, {kTitleSize, true}, most)) {
    picture.labels.push_back({line, kMargin, base += kTitleLine, {kTitleSize, true}, colours().ink});
  }
  auto y = static_cast<std::int64_t>(base) + 40;
  for (const Chart& chart : charts) {
    picture.title += ". " + chart.title;
    y = ChartDrawing(chart, static_cast<std::int64_t>(left), font, picture).draw(y) + 32;
  }
  picture.height = add_foot(picture, wrapped(font, foot, {kTextSize}, most - kFootIndent), y);
  return picture;
}

}  // namespace sightline::cli
