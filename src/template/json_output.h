#ifndef SIGHTLINE_TEMPLATE_JSON_OUTPUT_H_
#define SIGHTLINE_TEMPLATE_JSON_OUTPUT_H_

#include <optional>
#include <string>

#include "src/template/value.h"

namespace sightline::jinja {

struct JsonStyle {
  bool ascii = false;  // other characters as \u escapes
  bool sort_keys = false;
  std::optional<std::string> indent;  // for each level; nothing: one line
  std::string item_separator = ", ", key_separator = ": ";
};

/// What Python's json.dumps gives. Throws Fault for values that have no JSON.
Text to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_JSON_OUTPUT_H_
