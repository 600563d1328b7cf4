#include "src/template/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "src/template/text.h"
#include "src/template/value.h"

namespace sightline::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); }

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = skip_space(text, 0);
  const std::size_t end = trim_space_end(text);
  return begin < end ? text.substr(begin, end - begin) : std::string_view();
}

// Without underscores, which may stand between two digits alone. Nothing where one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_alphanumeric(text[i - 1]) || !is_alphanumeric(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

// Takes "0x", "0o", "0b" where the base allows it, and finds the base of 0.
void take_prefix(std::string& digits, int& base) {
  constexpr std::string_view kLetters = "xob";
  constexpr int kBases[] = {16, 8, 2};
  const bool has_letter = digits.size() > 2 && digits[0] == '0';
  const std::size_t i = has_letter ? kLetters.find(static_cast<char>(digits[1] | 0x20)) : kLetters.npos;
  if (i != kLetters.npos && (base == 0 || base == kBases[i])) {
    base = kBases[i];
    digits.erase(0, 2);
  }
  const bool leading_zero = digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != digits.npos;
  if (base == 0 && leading_zero) digits.clear();  // no number
  if (base == 0) base = 10;
}

}  // namespace

std::optional<std::int64_t> read_integer(std::string_view text, int base) {
  if (base != 0 && (base < 2 || base > 36)) fail("int(): the base must be from 2 to 36, or 0");
  auto digits = without_underscores(trimmed(text));
  if (!digits || digits->empty()) return std::nullopt;
  const bool negative = (*digits)[0] == '-';
  if (negative || (*digits)[0] == '+') digits->erase(0, 1);
  take_prefix(*digits, base);
  if (digits->empty() || !std::all_of(digits->begin(), digits->end(), is_alphanumeric)) return std::nullopt;
  if (negative) digits->insert(0, "-");
  std::int64_t value = 0;
  const char* end = digits->data() + digits->size();
  const auto result = std::from_chars(digits->data(), end, value, base);
  if (result.ptr != end) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) fail_unsupported("an integer of more than 64 bits");
  return value;
}

std::optional<double> read_real(std::string_view text) {
  const auto plain = without_underscores(trimmed(text));
  if (!plain || plain->empty()) return std::nullopt;
  std::string lower = *plain;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  const std::string_view unsigned_part = std::string_view(lower).substr(lower[0] == '-' || lower[0] == '+' ? 1 : 0);
  const bool is_word = unsigned_part == "inf" || unsigned_part == "infinity" || unsigned_part == "nan";
  if (!is_word && unsigned_part.find_first_not_of("0123456789.e+-") != unsigned_part.npos) return std::nullopt;
  if (unsigned_part.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(lower.c_str(), &end);
  if (end != lower.c_str() + lower.size()) return std::nullopt;
  return value;
}

double round_real(double value, int digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits >= 0) {
    char buffer[700];
    std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
    return std::strtod(buffer, nullptr);
  }
  if (digits < -308) return std::copysign(0.0, value);
  const double scale = std::pow(10.0, -digits);
  return std::nearbyint(value / scale) * scale;
}

}  // namespace sightline::jinja
