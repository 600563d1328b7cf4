#include "serve/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "serve/http_error.h"
#include "sightline/error.h"
#include "src/engine/look_memory.h"
#include "src/format/json.h"

namespace sightline::serve {
namespace {

constexpr int kMaxDepth = 8;

[[noreturn]] void refuse(const std::string& message) { throw HttpError(400, "bad_request", message); }

// Digits from the front of `text`, which are taken off it.
bool take_number(std::string_view& text, std::int64_t& value) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc();
}

bool take_letter(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

// "L4" or "L4H2" from the front of `text`; without a head, head is 0.
bool take_map(std::string_view& text, engine::MapId& id) {
  std::int64_t layer = 0, head = 0;
  if (!take_letter(text, 'L') || !take_number(text, layer)) return false;
  if (take_letter(text, 'H') && (!take_number(text, head) || head == 0)) return false;
  if (layer < 1 || layer > INT32_MAX || head > INT32_MAX) return false;
  id = {static_cast<int>(layer), static_cast<int>(head)};
  return true;
}

std::vector<int> parse_layers(const nlohmann::json& array) {
  std::vector<int> layers;
  for (const nlohmann::json& layer : array) {
    const bool whole = layer.is_number_integer() && layer >= 1 && layer <= INT32_MAX;
    if (!whole) refuse("\"keep_layers\" holds layers, whole numbers from 1");
    layers.push_back(layer.get<int>());
  }
  return engine::distinct_layers(std::move(layers));
}

}  // namespace

void require_parameters(const Parameters& given, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : given) {
    const std::string_view one = name;
    const bool fits = std::ranges::any_of(known, [&](std::string_view k) { return k.substr(0, k.find('*')) == one; });
    if (!fits) refuse(fmt::format("there is no parameter \"{}\" here: see /openapi.json", engine::shortened(name)));
    if (given.count(name) > 1) refuse(fmt::format("the parameter \"{}\" stands twice", name));
  }
  for (const std::string_view name : known) {
    if (name.ends_with('*') && given.count(std::string(name.substr(0, name.size() - 1))) == 0) {
      refuse(fmt::format("the parameter \"{}\" is missing", name.substr(0, name.size() - 1)));
    }
  }
}

std::string_view parameter(const Parameters& given, const std::string& name) {
  const auto found = given.find(name);
  return found == given.end() ? std::string_view() : std::string_view(found->second);
}

engine::MapId parse_map(std::string_view name) {
  engine::MapId id;
  std::string_view rest = name;
  if (!take_map(rest, id) || id.head == 0 || !rest.empty()) {
    refuse(fmt::format("\"{}\" names no map: give layer and head as in L4H2", engine::shortened(name)));
  }
  return id;
}

std::vector<engine::MapId> parse_maps(std::string_view names) {
  std::vector<engine::MapId> maps;
  if (names == "all") return maps;
  std::string_view rest = names;
  do {
    if (!take_map(rest, maps.emplace_back())) {
      refuse(
          fmt::format("maps=\"{}\" is not all, nor a list of layers and maps as in L4,L5H2", engine::shortened(names)));
    }
  } while (take_letter(rest, ','));
  if (!rest.empty()) refuse("maps are separated by commas, as in L4,L5H2");
  return maps;
}

std::vector<engine::MapId> expand_maps(const std::vector<engine::MapId>& maps, const engine::Look& look) {
  if (maps.empty()) return look.kept_maps();
  std::vector<engine::MapId> expanded;
  for (const engine::MapId& map : maps) {
    look.require({map.layer, std::max(map.head, 1)});
    for (int head = std::max(map.head, 1); head <= (map.head == 0 ? look.heads() : map.head); ++head) {
      expanded.push_back({map.layer, head});
    }
  }
  return expanded;
}

TokenRange parse_range(std::string_view name, std::string_view text, std::int64_t tokens) {
  if (text.empty()) return {0, tokens};
  TokenRange range;
  std::string_view rest = text;
  if (!take_number(rest, range.begin) || !take_letter(rest, ':') || !take_number(rest, range.end) || !rest.empty()) {
    refuse(fmt::format("{}=\"{}\" is no range: give the first token and one past the last as in 0:16", name,
                       engine::shortened(text)));
  }
  if (range.begin >= range.end) refuse(fmt::format("{}={}:{} holds no token", name, range.begin, range.end));
  if (range.end > tokens) {
    refuse(fmt::format("{}={}:{} is not within the {} tokens of this text", name, range.begin, range.end, tokens));
  }
  return range;
}

std::int64_t parse_number(std::string_view name, std::string_view text, std::int64_t min) {
  std::int64_t value = 0;
  std::string_view rest = text;
  if (!take_number(rest, value) || !rest.empty() || value < min) {
    refuse(fmt::format("{}=\"{}\" is no whole number from {} on", name, engine::shortened(text), min));
  }
  return value;
}

bool parse_switch(std::string_view name, std::string_view text) {
  if (text == "1") return true;
  if (!text.empty() && text != "0") refuse(fmt::format("{} is 1 or 0", name));
  return false;
}

ExplainSpec parse_explain(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    refuse(fmt::format("explain=\"{}\" names no row: give map and token as in L4H2:11", engine::shortened(text)));
  }
  return {parse_map(text.substr(0, colon)), parse_number("the token of explain", text.substr(colon + 1), 0)};
}

LookKey parse_look_body(std::string_view body) {
  try {
    const nlohmann::json json = format::parse_json(body, "the body", {body.size(), kMaxDepth});
    const format::JsonObject object(json, "the body");
    for (const auto& [name, value] : json.items()) {
      if (name != "text" && name != "truncate" && name != "keep_layers") {
        refuse(fmt::format("the body has no field {}: see /openapi.json", format::quote(name)));
      }
      if (value.is_null()) refuse(fmt::format("\"{}\" is null: leave it out", name));
    }
    LookKey key;
    key.text = object.require_string("text");
    key.truncate = object.find_bool("truncate").value_or(false);
    if (const nlohmann::json* layers = object.find_array("keep_layers")) key.keep_layers = parse_layers(*layers);
    return key;
  } catch (const BadFile& error) {
    refuse(error.what());
  }
}

}  // namespace sightline::serve
