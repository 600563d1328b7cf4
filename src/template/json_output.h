#ifndef SIGHTLINE_TEMPLATE_JSON_OUTPUT_H_
#define SIGHTLINE_TEMPLATE_JSON_OUTPUT_H_

#include <optional>

#include "src/template/value.h"

namespace sightline::jinja {

struct JsonStyle {
  bool ascii = false;  // other characters as \u escapes
  bool sort_keys = false;
  std::optional<Text> indent;  // for each level; nothing: one line
  Text item_separator = Text(", "), key_separator = Text(": ");
};

/// What Python's json.dumps gives. Throws Fault for values that have no JSON.
Text to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_JSON_OUTPUT_H_
