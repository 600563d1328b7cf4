#include <fmt/core.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <string_view>

#include "src/format/picture.h"

namespace sightline::format {
namespace {

constexpr std::int64_t kChunkRows = 64;  // rows of cells asked for at a time

// Streams base64 (RFC 4648); finish() pads.
class Base64 {
 public:
  explicit Base64(const ByteSink& sink) : sink_(sink) {}

  void write(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      group_ = group_ << 8 | std::to_integer<std::uint32_t>(byte);
      if (++held_ == 3) put(4);
    }
    flush();
  }

  void finish() {
    if (held_ > 0) {
      const int characters = held_ + 1;
      group_ <<= 8 * (3 - held_);
      put(characters);
      text_.append(4 - static_cast<std::size_t>(characters), '=');
    }
    flush();
  }

 private:
  void put(int characters) {
    static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < characters; ++i) text_ += kAlphabet[group_ >> (18 - 6 * i) & 63];
    group_ = 0;
    held_ = 0;
  }
  void flush() {
    sink_(std::as_bytes(std::span(text_)));
    text_.clear();
  }

  const ByteSink& sink_;
  std::string text_;
  std::uint32_t group_ = 0;  // the held bytes, last one lowest
  int held_ = 0;
};

class SvgWriter {
 public:
  SvgWriter(const Picture& picture, const ByteSink& sink, const Progress& progress)
      : picture_(picture), sink_(sink), progress_(progress) {}

  void write() {
    const double density = picture_.density;
    put(R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{:g}" height="{:g}" viewBox="0 0 {} {}" font-family="DejaVu Sans, Verdana, sans-serif" shape-rendering="crispEdges">
<title>{}</title>
<rect width="{}" height="{}" fill="{}"/>
)",
        picture_.width / density, picture_.height / density, picture_.width, picture_.height,
        xml_escape(picture_.title), picture_.width, picture_.height, hex(picture_.paper));
    for (std::size_t i = 0; i < picture_.cells.size(); ++i) {
      if (progress_) progress_(static_cast<double>(i) / static_cast<double>(picture_.cells.size()));
      write_cells(picture_.cells[i]);
    }
    for (const Box& box : picture_.boxes) {
      put("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", box.x, box.y, box.width, box.height,
          hex(box.colour));
    }
    for (const Stroke& stroke : picture_.strokes) write_stroke(stroke);
    for (const Wedge& wedge : picture_.wedges) write_wedge(wedge);
    for (const Label& label : picture_.labels) write_label(label);
    put("</svg>\n");
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> form, Args&&... args) {
    const std::string text = fmt::format(form, std::forward<Args>(args)...);
    sink_(std::as_bytes(std::span(text)));
  }

  void write_cells(const Cells& cells) {
    if (cells.rows * cells.cols > kMaxSvgCells) return write_image(cells);
    std::vector<Rgb> colours(static_cast<std::size_t>(cells.rows * cells.cols));
    cells.colours(0, cells.rows, colours);
    const std::int64_t side = cells.cell - cells.gap;
    for (std::int64_t row = 0; row < cells.rows; ++row) {
      put("<g transform=\"translate({} {})\">", cells.x, cells.y + row * cells.cell);
      for (std::int64_t col = 0; col < cells.cols; ++col) {
        put("<rect x=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>", col * cells.cell, side, side,
            hex(colours[static_cast<std::size_t>(row * cells.cols + col)]));
      }
      put("</g>\n");
    }
  }

  void write_image(const Cells& cells) {
    put(R"(<image x="{}" y="{}" width="{}" height="{}" preserveAspectRatio="none" style="image-rendering:pixelated" xlink:href="data:image/png;base64,)",
        cells.x, cells.y, cells.cols * cells.cell, cells.rows * cells.cell);
    Base64 base64(sink_);
    PngWriter png([&](std::span<const std::byte> bytes) { base64.write(bytes); }, cells.cols, cells.rows);
    std::vector<Rgb> colours;
    std::vector<std::uint8_t> rgb;
    for (std::int64_t begin = 0; begin < cells.rows; begin += kChunkRows) {
      if (progress_) progress_(static_cast<double>(begin) / static_cast<double>(cells.rows));
      const std::int64_t end = std::min(begin + kChunkRows, cells.rows);
      colours.resize(static_cast<std::size_t>((end - begin) * cells.cols));
      cells.colours(begin, end, colours);
      rgb.clear();
      for (const Rgb& colour : colours) rgb.insert(rgb.end(), {colour.red, colour.green, colour.blue});
      png.write_rows(rgb);
    }
    png.finish();
    base64.finish();
    put("\"/>\n");
  }

  // A path that goes nowhere is drawn as its round ends alone: a disc.
  void write_stroke(const Stroke& stroke) {
    if (stroke.points.empty()) return;
    std::string path;
    for (const Point& point : stroke.points) {
      path += fmt::format("{}{:g} {:g}", path.empty() ? "M" : "L", point.x, point.y);
    }
    if (stroke.points.size() == 1) path += fmt::format("L{:g} {:g}", stroke.points[0].x, stroke.points[0].y);
    put("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\" stroke-linecap=\"round\" "
        "stroke-linejoin=\"round\" shape-rendering=\"auto\"/>\n",
        path, hex(stroke.colour), stroke.width);
  }

  void write_wedge(const Wedge& wedge) {
    const auto& [a, b, c] = wedge.corners;
    put("<path d=\"M{:g} {:g}L{:g} {:g}L{:g} {:g}Z\" fill=\"{}\" shape-rendering=\"auto\"/>\n", a.x, a.y, b.x, b.y, c.x,
        c.y, hex(wedge.colour));
  }

  void write_label(const Label& label) {
    static constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
    const std::string place = label.style.angle == 0 ? fmt::format("x=\"{:g}\" y=\"{:g}\"", label.x, label.y)
                                                     : fmt::format("transform=\"translate({:g} {:g}) rotate({:g})\"",
                                                                   label.x, label.y, -label.style.angle);
    put("<text {} font-size=\"{:g}\"{} text-anchor=\"{}\" fill=\"{}\" xml:space=\"preserve\">{}</text>\n", place,
        label.style.size, label.style.bold ? " font-weight=\"bold\"" : "",
        kAnchors[static_cast<std::size_t>(label.anchor)], hex(label.colour), xml_escape(label.text));
  }

  const Picture& picture_;
  const ByteSink& sink_;
  const Progress& progress_;
};

std::string_view entity(UChar32 character) {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

// XML 1.0, production 2 (Char).
bool may_stand_in_xml(UChar32 c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0xD800) || (c >= 0xE000 && c < 0xFFFE) ||
         c >= 0x10000;
}

}  // namespace

std::string xml_escape(std::string_view text) {
  std::string escaped;
  const auto size = static_cast<std::int64_t>(text.size());
  for (std::int64_t i = 0; i < size;) {
    const std::int64_t begin = i;
    UChar32 character = 0;
    U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), i, size, character);
    if (const std::string_view name = entity(character); !name.empty()) {
      escaped += name;
    } else if (may_stand_in_xml(character)) {
      escaped += text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(i - begin));
    } else {
      escaped += "\xEF\xBF\xBD";
    }
  }
  return escaped;
}

void write_svg(const Picture& picture, const ByteSink& sink, const Progress& progress) {
  SvgWriter(picture, sink, progress).write();
}

}  // namespace sightline::format
