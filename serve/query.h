#ifndef SIGHTLINE_SERVE_QUERY_H_
#define SIGHTLINE_SERVE_QUERY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/look_store.h"
#include "src/engine/look.h"

namespace sightline::serve {

/// Parameters of an address, decoded.
using Parameters = std::multimap<std::string, std::string>;

/// Throws HttpError 400 for a parameter that is not in `known` (with a * behind its name: one that must be there), and
/// for one that stands twice.
void require_parameters(const Parameters& given, std::initializer_list<std::string_view> known);
/// Empty where there is none.
std::string_view parameter(const Parameters& given, const std::string& name);

/// "L4H2". Throws HttpError 400.
engine::MapId parse_map(std::string_view name);
/// "all" (no entry), or layers (head 0) and maps as in "L4,L5H2". Throws HttpError 400.
std::vector<engine::MapId> parse_maps(std::string_view names);
/// The maps that these are of a look; of all, those that it keeps. Throws BadArgument for layers that it does not have.
std::vector<engine::MapId> expand_maps(const std::vector<engine::MapId>& maps, const engine::Look& look);

struct TokenRange {
  std::int64_t begin = 0, end = 0;
};
/// "12:40", not empty and within `tokens`; an empty text means all of them. Throws HttpError 400.
TokenRange parse_range(std::string_view name, std::string_view text, std::int64_t tokens);
/// A whole number from `min` on. Throws HttpError 400.
std::int64_t parse_number(std::string_view name, std::string_view text, std::int64_t min);
/// "1" or "0"; empty: false. Throws HttpError 400.
bool parse_switch(std::string_view name, std::string_view text);

struct ExplainSpec {
  engine::MapId map;
  std::int64_t token = 0;
};
/// "L4H2:11". Throws HttpError 400.
ExplainSpec parse_explain(std::string_view text);

/// The body of POST /api/look. Layers come out ascending, each once. Throws HttpError 400.
LookKey parse_look_body(std::string_view body);

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_QUERY_H_
