#include "serve/size_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "sightline/error.h"

namespace sightline::serve {
namespace {

constexpr std::string_view kUnits = "KMGT";

}  // namespace

std::string size_text(std::size_t bytes) {
  auto size = static_cast<double>(bytes);
  if (size < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  std::size_t unit = 0;
  // 1023.5 KB would read 1024 KB
  for (size /= 1024; size >= 1023.5 && unit + 1 < kUnits.size(); size /= 1024) ++unit;
  return size < 9.95 ? fmt::format("{:.1f} {}B", size, kUnits[unit]) : fmt::format("{:.0f} {}B", size, kUnits[unit]);
}

std::string size_option(std::size_t bytes) {
  const std::size_t unit = bytes > (std::size_t{1} << 30) ? 30 : 20;
  return fmt::format("{}{}", (bytes >> unit) + ((bytes & ((std::size_t{1} << unit) - 1)) != 0), unit == 30 ? 'G' : 'M');
}

std::size_t parse_size(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.ends_with('B')) unit.remove_suffix(1);
  const std::size_t at = unit.size() == 1 ? kUnits.find(unit[0]) : std::string_view::npos;
  const bool known = unit.empty() || at != std::string_view::npos;
  const unsigned shift = unit.empty() ? 0 : 10 * (static_cast<unsigned>(at) + 1);
  if (error != std::errc() || !known || value == 0 || value > (SIZE_MAX >> 1 >> shift)) {
    throw BadArgument(fmt::format("{} is no size: give one as 500M or 3G", text));
  }
  return value << shift;
}

}  // namespace sightline::serve
