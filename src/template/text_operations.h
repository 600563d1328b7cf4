#ifndef SIGHTLINE_TEMPLATE_TEXT_OPERATIONS_H_
#define SIGHTLINE_TEMPLATE_TEXT_OPERATIONS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/template/budget.h"
#include "src/template/text.h"
#include "src/template/value.h"

namespace sightline::jinja {

enum class Sides : std::uint8_t { both, left, right };

/// Without the characters of `chars` at its ends; without white space where that is not given.
Text strip(const Text& text, std::optional<std::string_view> chars, Sides sides);
/// At most `most` cuts (all where negative), counted from the right if so asked; white space where no separator is
/// given.
Value split(const Text& text, std::optional<std::string_view> separator, std::int64_t most, bool from_right,
            Budget& budget);
Value split_lines(const Text& text, bool keep_ends, Budget& budget);
Text replace(const Text& text, std::string_view old_part, const Text& new_part, std::int64_t most, Budget& budget);
Text join(const std::vector<Text>& parts, const Text& between, Budget& budget);
/// Each line but the first, and empty ones unless asked for, begins with `indention`.
Text indent(const Text& text, const Text& indention, bool first, bool blank, Budget& budget);
Text reversed(const Text& text);
/// Filled up with `fill` to a width in characters.
Text pad(const Text& text, std::int64_t width, const Text& fill, std::optional<Sides> filled, Budget& budget);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_TEXT_OPERATIONS_H_
