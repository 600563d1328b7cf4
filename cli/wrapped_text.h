#ifndef SIGHTLINE_CLI_WRAPPED_TEXT_H_
#define SIGHTLINE_CLI_WRAPPED_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::cli {

/// What stands on a line of one item of a text.
struct Stretch {
  std::int64_t item = 0;
  std::string text;  // displayable
};
using ScreenLine = std::vector<Stretch>;

/// Text broken into lines while it grows, each at most `width` columns wide: between words or ideographs where it can
/// be, else between grapheme clusters. A line's end shows as a mark, as do tabs; what would act on a terminal is
/// escaped.
class WrappedText {
 public:
  /// width: 1 at least.
  WrappedText(int width, bool utf8);

  /// Text of item `item`, which follows all there is. Items come in ascending order.
  void add(std::int64_t item, std::string_view text);

  const std::vector<ScreenLine>& lines() const { return lines_; }
  /// The line on which the item ends, or where it would be.
  std::int64_t line_of(std::int64_t item) const;

 private:
  // How much of the last line stays on it where the rest must move: up to the last place to break at.
  struct Break {
    std::size_t stretches = 0, bytes = 0;  // whole ones, and bytes of the one after them
    bool any() const { return stretches > 0 || bytes > 0; }
  };

  void add_cluster(std::int64_t item, std::string_view cluster);
  void place(std::int64_t item, std::string_view shown, int columns);
  void next_line();
  Break here() const;

  int width_;
  bool utf8_;
  std::vector<ScreenLine> lines_;
  int used_ = 0;  // columns of the last line
  Break break_;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WRAPPED_TEXT_H_
