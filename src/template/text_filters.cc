// Filters of strings and numbers.
#include <algorithm>
#include <cmath>

#include "src/template/filters.h"
#include "src/template/interpreter.h"
#include "src/template/json_output.h"
#include "src/template/number_text.h"
#include "src/template/text_operations.h"
#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

Text text_of(Interpreter& interpreter, const Value& value) {
  const Text text = to_text(value, interpreter.budget());
  interpreter.budget().make(text.size());
  interpreter.budget().spend(text.size() / 8);
  return text;
}

template <Case how>
Value change_case(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("upper, lower or capitalize", arguments, {});
  return with_case(text_of(interpreter, input), how);
}

bool begins_word(char32_t c) { return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c); }

// Each part between white space, hyphens and opening brackets: the first character in upper case, the others in lower.
Value title(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("title", arguments, {});
  const Text text = text_of(interpreter, input);
  TextBuilder out;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = tokenizer::decode_char(text.bytes(), at);
    std::size_t end = at + first.length;
    out.append(with_case(text.slice(at, end), Case::upper));
    at = end;
    if (begins_word(first.code)) continue;
    while (end < text.size()) {
      const auto c = tokenizer::decode_char(text.bytes(), end);
      if (begins_word(c.code)) break;
      end += c.length;
    }
    out.append(with_case(text.slice(at, end), Case::lower));
    at = end;
  }
  return out.take();
}

Value trim(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("trim", arguments, {"chars"});
  const bool spaces = !bound.has(0) || bound.require(0).is_none();
  return strip(text_of(interpreter, input), spaces ? std::nullopt : std::optional(bound.string(0, "")), Sides::both);
}

Value replace_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"});
  const bool all = !bound.has(2) || bound.require(2).is_none();
  const Text old_part = text_of(interpreter, bound.require(0)), new_part = text_of(interpreter, bound.require(1));
  return replace(text_of(interpreter, input), old_part.bytes(), new_part, all ? -1 : bound.integer(2, -1),
                 interpreter.budget());
}

Value indent_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  if (input.is_undefined()) fail(input.undefined_what());
  if (input.as_text() == nullptr) fail("indent needs a string");
  Text indention(std::string(4, ' '));
  if (bound.has(0) && bound.require(0).as_text() != nullptr) {
    indention = *bound.require(0).as_text();
  } else {
    indention = pad(Text(), bound.count(0, 4), Text(" "), Sides::left, interpreter.budget());
  }
  return indent(*input.as_text(), indention, bound.flag(1, false), bound.flag(2, false), interpreter.budget());
}

Value center(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  return pad(text_of(interpreter, input), bound.count(0, 80), Text(" "), std::nullopt, interpreter.budget());
}

Value string(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("string", arguments, {});
  return text_of(interpreter, input);
}

JsonStyle json_style(const Bound& bound) {
  JsonStyle style;
  style.ascii = bound.flag(0, false);
  const bool indented = bound.has(1) && !bound.require(1).is_none();
  if (indented && bound.require(1).as_text() != nullptr) {
    style.indent = *bound.require(1).as_text();
  } else if (indented) {
    const std::int64_t width = bound.count(1, 0);
    if (width > 1000) fail("tojson: an indent of more than 1000");
    style.indent = Text(std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' '));
  }
  if (indented) style.item_separator = Text(",");
  if (bound.has(2) && !bound.require(2).is_none()) {
    const Sequence* pair = bound.require(2).as_sequence();
    const bool fits = pair != nullptr && pair->items.size() == 2 && pair->items[0].as_text() != nullptr &&
                      pair->items[1].as_text() != nullptr;
    if (!fits) fail("tojson: 'separators' must be two strings");
    style.item_separator = *pair->items[0].as_text();
    style.key_separator = *pair->items[1].as_text();
  }
  style.sort_keys = bound.flag(3, false);
  return style;
}

Value to_json_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  return to_json(input, json_style(bound), interpreter.budget());
}

std::int64_t truncated(double value) {
  if (!std::isfinite(value)) fail("int(): no integer is infinite or NaN");
  if (std::fabs(value) >= 9.2e18) fail_unsupported("an integer of more than 64 bits");
  return static_cast<std::int64_t>(value);
}

Value int_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  if (input.is_undefined()) fail(input.undefined_what());
  if (const auto integer = input.integer()) return *integer;
  if (const double* real = input.as_real()) return truncated(*real);
  if (const Text* text = input.as_text()) {
    const std::int64_t base = bound.integer(1, 10);
    if (base < 0 || base > 36) fail("int(): the base must be from 2 to 36, or 0");
    if (const auto integer = read_integer(text->bytes(), static_cast<int>(base))) return *integer;
    const auto real = read_real(text->bytes());
    if (real && std::isfinite(*real)) return truncated(*real);
  }
  return bound.get(0, Value(std::int64_t{0}));
}

Value float_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  if (input.is_undefined()) fail(input.undefined_what());
  if (const auto number = input.number()) return *number;
  if (const Text* text = input.as_text()) {
    if (const auto real = read_real(text->bytes())) return *real;
  }
  return bound.get(0, Value(0.0));
}

Value abs_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("abs", arguments, {});
  if (const double* real = input.as_real()) return std::fabs(*real);
  if (input.is_undefined()) fail(input.undefined_what());
  const auto integer = input.integer();
  if (!integer) fail("abs needs a number");
  if (*integer == INT64_MIN) fail_unsupported("an integer of more than 64 bits");
  return std::abs(*integer);
}

Value round_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::string_view method = bound.string(1, "common");
  const std::int64_t precision = std::clamp<std::int64_t>(bound.integer(0, 0), -400, 400);
  if (method != "common" && method != "ceil" && method != "floor") fail("round: the method is unknown");
  if (input.is_undefined()) fail(input.undefined_what());
  if (!input.number()) fail("round needs a number");
  if (method == "common") {
    if (input.integer() && precision >= 0) return *input.integer();
    if (input.integer()) return truncated(round_real(*input.number(), static_cast<int>(precision)));
    return round_real(*input.number(), static_cast<int>(precision));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = *input.number() * scale;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

Value word_count(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("wordcount", arguments, {});
  const Text text = text_of(interpreter, input);
  std::int64_t count = 0;
  bool inside = false;
  for (const char32_t c : tokenizer::to_chars(text.bytes())) {
    const bool is_word = tokenizer::is_word_char(c);
    if (is_word && !inside) ++count;
    inside = is_word;
  }
  return count;
}

constexpr NamedFilter kFilters[] = {
    {"upper", change_case<Case::upper>},
    {"lower", change_case<Case::lower>},
    {"capitalize", change_case<Case::capital>},
    {"title", title},
    {"trim", trim},
    {"replace", replace_filter},
    {"indent", indent_filter},
    {"center", center},
    {"string", string},
    {"safe", string},
    {"tojson", to_json_filter},
    {"int", int_filter},
    {"float", float_filter},
    {"abs", abs_filter},
    {"round", round_filter},
    {"wordcount", word_count},
};

}  // namespace

std::span<const NamedFilter> text_filters() { return kFilters; }

}  // namespace sightline::jinja
