#ifndef SIGHTLINE_FORMAT_FONT_H_
#define SIGHTLINE_FORMAT_FONT_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace sightline::format {

/// How a line of text is set.
struct TextStyle {
  double size = 16;  // pixels an em
  bool bold = false;
  double angle = 0;  // degrees, counter-clockwise: 45 rises to the right
};

/// Coverage of one glyph: `rows` x `cols` bytes (255 = full), its top left at pixel (x, y), rows `pitch` bytes apart.
struct GlyphMask {
  int x = 0, y = 0, rows = 0, cols = 0, pitch = 0;
  const std::uint8_t* coverage = nullptr;
};
using GlyphSink = std::function<void(const GlyphMask&)>;

/// DejaVu Sans through FreeType; GNU Unifont stands in for glyphs it lacks, an empty box for glyphs that both lack.
/// Text is one line of UTF-8; a line that begins from right to left is set so, its Arabic letters joined. No other
/// shaping. Not for concurrent use.
class Font {
 public:
  /// Reads the fonts from the folders that their Debian packages use below `root`. Throws BadFile naming the package to
  /// install.
  explicit Font(const std::filesystem::path& root = "/usr/share/fonts");
  ~Font();
  Font(const Font&) = delete;
  Font& operator=(const Font&) = delete;

  /// Advance of `text` along its baseline, pixels.
  double width(std::string_view text, const TextStyle& style);
  /// Hands out the glyphs of `text`, whose baseline begins at (x, y) (y points down).
  void draw(std::string_view text, const TextStyle& style, double x, double y, const GlyphSink& sink);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_FONT_H_
