#ifndef SIGHTLINE_ENGINE_AXIS_H_
#define SIGHTLINE_ENGINE_AXIS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::engine {

/// One row or column of a map as it is shown: a token, or a word made of neighbouring tokens.
struct AxisItem {
  std::string label;             // a word as the text spells it, a token as the vocabulary does ("##ing", "[CLS]")
  std::int64_t token_begin = 0;  // tokens [token_begin, token_end) of the encoding
  std::int64_t token_end = 0;
  std::size_t byte_begin = 0;  // range in the text; empty for what the tokenizer's template added
  std::size_t byte_end = 0;
  bool special = false;  // added by the template
};

/// The rows or the columns of a map, in the order of the text. A block of a map is a block of its axes: use subspans.
using Axis = std::vector<AxisItem>;

/// The index in `axis` (from 0) of the item that `spec` names:
///   `it`    the only item with that text; case counts unless nothing matches exactly;
///   `it:2`  the second one, counted from 1;
///   `#7`    the seventh item of the axis, counted from 1.
/// An item whose label is `spec` itself, as it stands, wins ("12:30", "#"). Throws BadArgument where nothing matches,
/// or several do; the message lists what could have been meant.
std::size_t find_item(const Axis& axis, std::string_view spec);
/// Whether `spec` names anything in `axis`, one item or several. Throws BadArgument for a number beyond what there is.
bool has_item(const Axis& axis, std::string_view spec);

/// Text of the user's as a message repeats it: its first 60 characters, and an ellipsis where it has more.
std::string shortened(std::string_view text);
/// The text without blanks, tabs and line ends around it.
std::string_view trimmed(std::string_view text);
/// The same in double quotes, on one line.
std::string in_quotes(std::string_view text);

/// A whole number from 1 in decimal digits; nothing for anything else.
std::optional<std::size_t> parse_count(std::string_view digits);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_AXIS_H_
