#ifndef SIGHTLINE_TEMPLATE_NUMBER_TEXT_H_
#define SIGHTLINE_TEMPLATE_NUMBER_TEXT_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace sightline::jinja {

/// What Python's int(text, base) and float(text) read, of ASCII digits; nothing for other text. An integer of more than
/// 64 bits throws Fault.
std::optional<std::int64_t> read_integer(std::string_view text, int base);
std::optional<double> read_real(std::string_view text);
/// Rounded to `digits` behind the point as Python does: by the exact decimal value, ties to even.
double round_real(double value, int digits);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_NUMBER_TEXT_H_
