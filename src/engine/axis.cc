#include "src/engine/axis.h"

#include <fmt/format.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sightline/error.h"
#include "src/tokenizer/unicode.h"

namespace sightline::engine {
namespace {

constexpr std::size_t kListed = 12;  // items that a message names before it stops

icu::UnicodeString folded(std::string_view text) {
  return icu::UnicodeString::fromUTF8({text.data(), static_cast<std::int32_t>(text.size())}).foldCase();
}

std::vector<std::size_t> labelled(const Axis& axis, std::string_view label) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    if (axis[i].label == label) found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> labelled_in_any_case(const Axis& axis, std::string_view label) {
  std::vector<std::size_t> found = labelled(axis, label);
  const icu::UnicodeString wanted = folded(label);
  for (std::size_t i = 0; found.empty() && i < axis.size(); ++i) {
    if (folded(axis[i].label) == wanted) {
      for (std::size_t j = i; j < axis.size(); ++j) {
        if (folded(axis[j].label) == wanted) found.push_back(j);
      }
    }
  }
  return found;
}

std::string listing(const Axis& axis) {
  std::string list;
  for (std::size_t i = 0; i < std::min(axis.size(), kListed); ++i) list += (i ? ", " : "") + in_quotes(axis[i].label);
  return list + (axis.size() > kListed ? ", ..." : "");
}

[[noreturn]] void throw_ambiguous(std::string_view label, const std::vector<std::size_t>& found) {
  std::string choices;
  for (std::size_t i = 0; i < std::min(found.size(), kListed); ++i) {
    choices += (i ? ", " : "") + in_quotes(fmt::format("{}:{}", label, i + 1));
  }
  throw BadArgument(fmt::format("{} stands {} times in the text: say which one, {}{}", in_quotes(label), found.size(),
                                choices, found.size() > kListed ? ", ..." : ""));
}

// `#7`
std::optional<std::size_t> numbered(const Axis& axis, std::string_view spec) {
  if (spec.size() < 2 || spec.front() != '#') return std::nullopt;
  const auto number = parse_count(spec.substr(1));
  if (!number) return std::nullopt;
  if (*number > axis.size())
    throw BadArgument(fmt::format("there is no #{}: the items are #1 to #{}", *number, axis.size()));
  return *number - 1;
}

// `it:2`
std::optional<std::size_t> occurrence(const Axis& axis, std::string_view spec) {
  const std::size_t colon = spec.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = parse_count(spec.substr(colon + 1));
  const std::string_view label = spec.substr(0, colon);
  const auto found = labelled_in_any_case(axis, label);
  if (!number || found.empty()) return std::nullopt;
  if (*number > found.size()) {
    throw BadArgument(fmt::format("there is no {} number {}: it stands there {} time{}", in_quotes(label), *number,
                                  found.size(), found.size() == 1 ? "" : "s"));
  }
  return found[*number - 1];
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string shortened(std::string_view text) {
  constexpr int kMostShown = 60;
  int characters = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = !tokenizer::is_continuation(text[at]);
    if ((begins && ++characters > kMostShown) || at == 4 * kMostShown) return std::string(text.substr(0, at)) + "...";
  }
  return std::string(text);
}

std::string in_quotes(std::string_view label) {
  std::string text = shortened(label);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return '"' + text + '"';
}

std::optional<std::size_t> parse_count(std::string_view digits) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value == 0) return std::nullopt;
  return value;
}

bool has_item(const Axis& axis, std::string_view spec) {
  return !labelled_in_any_case(axis, spec).empty() || numbered(axis, spec) || occurrence(axis, spec);
}

std::size_t find_item(const Axis& axis, std::string_view spec) {
  const auto found = labelled_in_any_case(axis, spec);
  if (found.size() == 1) return found.front();
  if (found.size() > 1) throw_ambiguous(spec, found);
  if (const auto index = numbered(axis, spec)) return *index;
  if (const auto index = occurrence(axis, spec)) return *index;
  throw BadArgument(fmt::format("there is no {} in the text; it has {}", in_quotes(spec), listing(axis)));
}

}  // namespace sightline::engine
