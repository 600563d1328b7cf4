#include "src/model/drop_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "sightline/error.h"

namespace sightline::model {
namespace {

constexpr const char* kForms =
    "rules are \"window,keep=N\", \"sinks+window,keep=N[,sinks=S]\" and \"mass,keep=N[,recent=M]\"";

const char* name_of(DropKind kind) {
  switch (kind) {
    case DropKind::window:
      return "window";
    case DropKind::sinks_window:
      return "sinks+window";
    case DropKind::mass:
      return "mass";
    case DropKind::none:
      break;
  }
  return "none";
}

std::optional<DropKind> kind_of(std::string_view name) {
  for (const DropKind kind : {DropKind::window, DropKind::sinks_window, DropKind::mass}) {
    if (name == name_of(kind)) return kind;
  }
  return std::nullopt;
}

// The part of `text` up to a comma, which is taken off it.
std::string_view take_part(std::string_view& text) {
  const std::size_t end = std::min(text.find(','), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::int64_t number_of(std::string_view part, std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && end == digits.data() + digits.size()) return number;
  throw BadArgument(fmt::format("\"{}\" in a rule of dropping is no number: {}", part, kForms));
}

void set_number(std::string_view part, DropRule& rule) {
  const std::size_t equals = std::min(part.find('='), part.size());
  const std::string_view name = part.substr(0, equals);
  std::int64_t* to = nullptr;
  if (name == "keep") to = &rule.keep;
  if (name == "sinks" && rule.kind == DropKind::sinks_window) to = &rule.sinks;
  if (name == "recent" && rule.kind == DropKind::mass) to = &rule.recent;
  if (to == nullptr) {
    throw BadArgument(fmt::format("the rule {} of dropping knows no \"{}\": {}", name_of(rule.kind), part, kForms));
  }
  *to = number_of(part, part.substr(std::min(equals + 1, part.size())));
  if (name == "recent" && *to < 1) {
    throw BadArgument(
        fmt::format("a rule of dropping has recent={}: the newest key at least stays, so 1 or more", *to));
  }
}

// Newest tokens that the mass rule keeps.
std::int64_t recent_of(const DropRule& rule) {
  return rule.recent > 0 ? rule.recent : std::max<std::int64_t>(rule.keep / 2, 1);
}

// What goes before what, of a head's keys: the lesser first. Keys that the rule keeps safe come last, the newest of
// them at the end.
std::tuple<bool, double, std::int32_t> order_of(const DropRule& rule, const HeadKeys& keys, std::size_t index,
                                                std::int64_t newest) {
  const std::int32_t position = keys.positions[index];
  switch (rule.kind) {
    case DropKind::mass:
      // A sum with a NaN in it (damaged weights) orders, too.
      return {position > newest - recent_of(rule), std::fmin(keys.mass[index], HUGE_VAL), position};
    case DropKind::sinks_window:
      return {position < rule.sinks, 0, position};
    default:
      return {false, 0, position};
  }
}

}  // namespace

DropRule parse_drop_rule(std::string_view text) {
  DropRule rule;
  const std::string_view name = take_part(text);
  const std::optional<DropKind> kind = kind_of(name);
  if (!kind) throw BadArgument(fmt::format("there is no rule of dropping \"{}\": {}", name, kForms));
  rule.kind = *kind;
  std::set<std::string_view> set;
  while (!text.empty()) {
    const std::string_view part = take_part(text);
    set_number(part, rule);
    const std::string_view number = part.substr(0, part.find('='));
    if (!set.insert(number).second) {
      throw BadArgument(fmt::format("the rule {} of dropping says {} twice: leave one of them out", name, number));
    }
  }
  if (!set.contains("keep"))
    throw BadArgument(fmt::format("the rule {} of dropping does not say how many keys to keep: {}", name, kForms));
  require_drop_rule(rule);
  return rule;
}

std::string drop_rule_text(const DropRule& rule) {
  std::string text = name_of(rule.kind);
  if (rule.kind != DropKind::none) text += fmt::format(",keep={}", rule.keep);
  if (rule.kind == DropKind::sinks_window) text += fmt::format(",sinks={}", rule.sinks);
  if (rule.kind == DropKind::mass) text += fmt::format(",recent={}", recent_of(rule));
  return text;
}

void require_drop_rule(const DropRule& rule) {
  if (rule.kind == DropKind::none) return;
  if (rule.keep < 1) {
    throw BadArgument(fmt::format("a rule of dropping has keep={}: each head keeps 1 key or more", rule.keep));
  }
  if (rule.kind == DropKind::sinks_window && (rule.sinks < 0 || rule.sinks >= rule.keep)) {
    throw BadArgument(
        fmt::format("a rule of dropping has keep={} and sinks={}: the newest key stays too, so sinks can "
                    "be 0 to {}",
                    rule.keep, rule.sinks, rule.keep - 1));
  }
  if (rule.kind == DropKind::mass && (rule.recent < 0 || rule.recent > rule.keep)) {
    throw BadArgument(
        fmt::format("a rule of dropping has keep={} and recent={}: of the keys that are kept {} at most "
                    "can be the newest",
                    rule.keep, rule.recent, rule.keep));
  }
}

std::int64_t next_to_go(const DropRule& rule, const HeadKeys& keys, std::int64_t newest) {
  std::size_t first = 0;
  auto least = order_of(rule, keys, 0, newest);
  for (std::size_t index = 1; index < keys.positions.size(); ++index) {
    const auto order = order_of(rule, keys, index, newest);
    if (order >= least) continue;
    first = index;
    least = order;
  }
  return static_cast<std::int64_t>(first);
}

std::vector<std::int64_t> those_kept(const DropRule& rule, const HeadKeys& keys, std::int64_t keep) {
  std::vector<std::int64_t> indexes(keys.positions.size());
  if (indexes.empty()) return indexes;
  std::iota(indexes.begin(), indexes.end(), 0);
  const std::int64_t newest = *std::ranges::max_element(keys.positions);
  const auto goes_first = [&](std::int64_t a, std::int64_t b) {
    return order_of(rule, keys, static_cast<std::size_t>(a), newest) <
           order_of(rule, keys, static_cast<std::size_t>(b), newest);
  };
  const auto gone = std::max<std::ptrdiff_t>(std::ssize(indexes) - keep, 0);
  std::nth_element(indexes.begin(), indexes.begin() + gone, indexes.end(), goes_first);
  indexes.erase(indexes.begin(), indexes.begin() + gone);
  std::ranges::sort(indexes);
  return indexes;
}

}  // namespace sightline::model
