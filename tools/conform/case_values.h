#ifndef SIGHTLINE_TOOLS_CONFORM_CASE_VALUES_H_
#define SIGHTLINE_TOOLS_CONFORM_CASE_VALUES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/conform/arrays.h"

namespace sightline::conform {

/// A number, where "inf", "-inf" and "nan" are strings.
double case_number(const nlohmann::json& value);

/// {"shape", "data"}; in place of "data" also "rle" (runs of [value, count]), "gen": "sm64" with "seed", "mul" and
/// "add", or "visible_ranges_per_row". Values are rounded to fp32.
Array case_array(const nlohmann::json& value);
Input case_input(const nlohmann::json& value);
/// A mask of 0 and 1, true = attend.
Input case_mask(const nlohmann::json& value);

/// {"abs", "rel"}.
Tolerance case_tolerance(const nlohmann::json& value);

std::vector<std::byte> decode_base64(const std::string& text);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_CASE_VALUES_H_
