#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "sightline/error.h"
#include "src/engine/knock_out.h"

namespace sightline::engine {
namespace {

constexpr std::string_view kArrow = "->";
constexpr std::string_view kForm = "FROM->TO or FROM->TO@MAPS, as it->street@L4H2";

// Where the quoted string that `text` begins with ends; npos where it does not.
std::size_t end_of_quotes(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

struct Numbers {
  std::size_t first = 0, last = 0;
};

// `7` or `3-9`.
std::optional<Numbers> parse_numbers(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_count(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_count(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return Numbers{*first, *last};
}

// `L4H2`, `L3-5`, `H2`.
KnockOutMaps parse_map(std::string_view text) {
  KnockOutMaps map;
  if (text == "all") return map;
  std::string_view rest = text;
  const auto take = [&](char upper, char lower, std::size_t& first, std::size_t& last) {
    if (rest.empty() || (rest.front() != upper && rest.front() != lower)) return true;
    const std::size_t end = std::min(rest.find_first_not_of("0123456789-", 1), rest.size());
    const auto numbers = parse_numbers(rest.substr(1, end - 1));
    if (numbers) first = numbers->first, last = numbers->last;
    rest = rest.substr(end);
    return numbers.has_value();
  };
  const bool read = take('L', 'l', map.first_layer, map.last_layer) && take('H', 'h', map.first_head, map.last_head);
  if (!text.empty() && read && rest.empty()) return map;
  throw BadArgument(fmt::format("{} names no layers or heads: say L4H2, L4, H2 or L3-5, with commas between several",
                                in_quotes(text)));
}

class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  KnockOutSpec parse() {
    KnockOutSpec spec{std::string(text_), {}, {}, {}};
    const std::size_t arrow = find_outside_quotes(trimmed(text_), kArrow, /*last=*/false);
    if (arrow == std::string_view::npos) refuse(fmt::format("there is no -> in it: it is {}", kForm));
    const std::string_view whole = trimmed(text_), from = trimmed(whole.substr(0, arrow)),
                           rest = trimmed(whole.substr(arrow + kArrow.size()));
    const std::size_t at = find_outside_quotes(rest, "@", /*last=*/true);
    spec.from = parse_side(from, "before");
    spec.to = parse_side(trimmed(rest.substr(0, at)), "after");
    if (at != std::string_view::npos) spec.maps = maps_of(trimmed(rest.substr(at + 1)));
    return spec;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw BadArgument(fmt::format("knock-out {}: {}", in_quotes(text_), why));
  }

  // The first or the last place of `mark` in `text`, behind the quotes that it may begin with.
  std::size_t find_outside_quotes(std::string_view text, std::string_view mark, bool last) const {
    std::size_t begin = 0;
    if (text.starts_with('"')) begin = end_of_quotes(text);
    if (begin == std::string_view::npos) {
      refuse("quotes are opened and not closed; a word that is a quotation mark is written \"\\\"\"");
    }
    const std::string_view rest = text.substr(begin);
    const std::size_t found = last ? rest.rfind(mark) : rest.find(mark);
    return found == std::string_view::npos ? found : begin + found;
  }

  std::vector<KnockOutMaps> maps_of(std::string_view list) const {
    try {
      return parse_maps(list);
    } catch (const BadArgument& error) {
      refuse(fmt::format("{}; a word that holds @ stands in double quotes", error.what()));
    }
  }

  KnockOutSide parse_side(std::string_view text, std::string_view where) const {
    using Kind = KnockOutSide::Kind;
    if (text.empty()) refuse(fmt::format("nothing stands {} ->: it is {}", where, kForm));
    if (text.front() == '"') return {Kind::name, unquoted(text)};
    if (text == "*") return {Kind::all};
    if (text.size() > 1 && text.front() == ':') return {Kind::segment, std::string(trimmed(text.substr(1)))};
    const bool words = text.front() == '#', pieces = text.front() == '/';
    if (text.size() > 1 && (words || pieces)) {
      if (const auto numbers = parse_numbers(text.substr(1))) {
        return {words ? Kind::words : Kind::pieces, {}, numbers->first, numbers->last};
      }
    }
    return {Kind::name, std::string(text)};
  }

  // A JSON string, and behind it the number of an occurrence or of a piece.
  std::string unquoted(std::string_view text) const {
    const std::size_t end = end_of_quotes(text);
    const std::string_view number = text.substr(end);
    const bool numbered = number.size() > 1 && (number.front() == ':' || number.front() == '/');
    if (!number.empty() && !(numbered && parse_count(number.substr(1)))) {
      refuse(fmt::format("{} stands behind the quotes, where :2 or /2 can stand", in_quotes(number)));
    }
    const auto json = nlohmann::json::parse(text.substr(0, end), nullptr, /*allow_exceptions=*/false);
    if (!json.is_string()) refuse(fmt::format("{} is no string of JSON", text.substr(0, end)));
    return json.get<std::string>() + std::string(number);
  }

  std::string_view text_;
};

}  // namespace

std::vector<KnockOutMaps> parse_maps(std::string_view list) {
  std::vector<KnockOutMaps> maps;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    maps.push_back(parse_map(trimmed(list.substr(begin, end - begin))));
    begin = end + 1;
  }
  return maps;
}

KnockOutSpec parse_knock_out(std::string_view text) { return SpecParser(text).parse(); }

}  // namespace sightline::engine
