#include "cli/picture_parts.h"

#include <fmt/core.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/engine/look.h"

namespace sightline::cli {
namespace {

using format::Label;
using format::Picture;
using format::Rgb;
using format::Theme;

constexpr Rgb kNotANumber = {0xa8, 0x4a, 0x06};
constexpr std::int64_t kLegendWidth = 512, kLegendHeight = 22;  // two pixels a step of the scale

Rgb colour_of(float weight, const Scale& scale) {
  return std::isnan(weight) ? kNotANumber : format::weight_colour(scale.place(weight), Theme::light);
}

// Round weights that lie on the scale, ends included.
std::vector<LegendTick> weight_ticks(const Scale& scale) {
  std::vector<double> weights = {0, 0.05, 0.2, 0.5, 1};
  if (scale.long_text()) {
    weights.clear();
    for (double weight = 1; scale.place(weight) > 0; weight /= 10) weights.push_back(weight);
  }
  std::vector<LegendTick> ticks;
  for (const double weight : weights) ticks.push_back({scale.place(weight), fmt::format("{:g}", weight)});
  return ticks;
}

double right_end(format::Font& font, const Label& label) { return label.x + font.width(label.text, label.style); }

}  // namespace

const format::Palette& colours() { return format::palette(Theme::light); }

format::Cells colour_cells(const Weights& weights, const Scale& scale, std::int64_t x, std::int64_t y,
                           std::int64_t cell, std::int64_t gap) {
  auto fill = [weights, scale](std::int64_t row_begin, std::int64_t row_end, std::span<Rgb> out) {
    std::vector<float> read(out.size());
    weights.read(row_begin, row_end, read);
    std::size_t i = 0;
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      for (std::int64_t col = 0; col < weights.cols; ++col, ++i) {
        out[i] = weights.hides(row, col) ? colours().line : colour_of(read[i], scale);
      }
    }
  };
  return {x, y, cell, gap, weights.rows, weights.cols, std::move(fill)};
}

void add_weight_number(Picture& picture, const Scale& scale, float weight, double x, double y) {
  if (!(weight >= 0.005f)) return;
  const std::string text = weight >= 0.995f ? "1" : fmt::format("{:.2f}", weight).substr(1);
  picture.labels.push_back(
      {text, x, y + 8, {kSmallSize, weight >= 0.1f}, format::ink_on(colour_of(weight, scale)), Label::Anchor::middle});
}

std::int64_t add_header(Picture& picture, const std::string& title, const std::vector<std::string>& lines) {
  picture.density = kDensity;
  picture.title = title;
  picture.paper = colours().paper;
  picture.labels.push_back({title, kMargin, kMargin + 40, {kTitleSize, true}, colours().ink});
  double y = kMargin + 92;
  for (const std::string& line : lines) {
    picture.title += ". " + line;
    picture.labels.push_back({line, kMargin, y, {kTextSize}, colours().soft});
    y += kLineStep;
  }
  return static_cast<std::int64_t>(y);
}

void add_legend(Picture& picture, const std::vector<LegendTick>& ticks, const std::string& what, std::int64_t y) {
  for (std::int64_t i = 0; i < kLegendWidth / 2; ++i) {
    const double t = static_cast<double>(i) / (kLegendWidth / 2 - 1);
    picture.boxes.push_back({kMargin + 2 * i, y, 2, kLegendHeight, format::weight_colour(t, Theme::light)});
  }
  for (const LegendTick& tick : ticks) {
    const double x = kMargin + tick.place * kLegendWidth;
    const auto line = std::min(static_cast<std::int64_t>(x), kMargin + kLegendWidth - 2);
    picture.boxes.push_back({line, y + kLegendHeight, 2, 6, colours().soft});
    picture.labels.push_back({tick.text,
                              x,
                              static_cast<double>(y + kLegendHeight) + 32,
                              {kSmallSize},
                              colours().soft,
                              Label::Anchor::middle});
  }
  picture.labels.push_back({what,
                            static_cast<double>(kMargin + kLegendWidth) + 32,
                            static_cast<double>(y) + 20,
                            {kSmallSize},
                            colours().soft});
}

void add_footer(Picture& picture, format::Font& font, const Scale& scale, std::int64_t y) {
  add_legend(picture, weight_ticks(scale),
             scale.long_text() ? fmt::format("weight, logarithmic around an even look (1/{} each)", scale.keys)
                               : "weight, dark = much (drawn by weight to the power 0.6)",
             y);
  end_picture(picture, font, {std::string(engine::kCaveat)}, y + kLegendStep);
}

void end_picture(Picture& picture, format::Font& font, const std::vector<std::string>& lines, std::int64_t y) {
  picture.height = add_foot(picture, lines, y);
  for (const Label& label : picture.labels) {
    if (label.anchor != Label::Anchor::start || label.style.angle != 0) continue;
    picture.width = std::max(picture.width, static_cast<std::int64_t>(std::ceil(right_end(font, label))) + kMargin);
  }
}

std::int64_t add_foot(Picture& picture, const std::vector<std::string>& lines, std::int64_t y) {
  double base = static_cast<double>(y) + 26;
  if (!lines.empty()) {
    picture.wedges.push_back(
        {{{{kMargin, base - 2}, {kMargin + 40, base - 20}, {kMargin + 40, base - 2}}}, colours().gaze});
  }
  for (const std::string& line : lines) {
    picture.labels.push_back({line, kMargin + kFootIndent, base, {kTextSize}, colours().ink});
    base += kLineStep;
  }
  return static_cast<std::int64_t>(base - kLineStep) + kMargin - 16;
}

std::string fit(format::Font& font, const std::string& text, const format::TextStyle& style, double most) {
  if (font.width(text, style) <= most) return text;
  std::int64_t end = static_cast<std::int64_t>(text.size());
  std::string cut;
  do {
    U8_BACK_1(reinterpret_cast<const std::uint8_t*>(text.data()), 0, end);
    cut = text.substr(0, static_cast<std::size_t>(end)) + "…";
  } while (end > 0 && font.width(cut, style) > most);
  return cut;
}

}  // namespace sightline::cli
