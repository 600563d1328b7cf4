#ifndef SIGHTLINE_FORMAT_ORDERED_JSON_H_
#define SIGHTLINE_FORMAT_ORDERED_JSON_H_

#include <nlohmann/json.hpp>
#include <string_view>

#include "src/format/json.h"

namespace sightline::format {

/// parse_json() where the order of keys counts. An object may have 10,000 of them: each is looked for among all.
nlohmann::ordered_json parse_ordered_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_ORDERED_JSON_H_
