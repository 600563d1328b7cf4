#include "src/template/methods.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>

#include "src/template/text_operations.h"
#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

using TextMethod = Value (*)(Interpreter&, const Text&, const Arguments&);

template <Sides sides>
Value strip_method(Interpreter&, const Text& text, const Arguments& arguments) {
  const Bound bound("strip", arguments, {"chars"});
  if (!bound.has(0) || bound.require(0).is_none()) return strip(text, std::nullopt, sides);
  return strip(text, bound.string(0, ""), sides);
}

template <bool from_right>
Value split_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("split", arguments, {"sep", "maxsplit"});
  const bool at_spaces = !bound.has(0) || bound.require(0).is_none();
  const auto separator = at_spaces ? std::nullopt : std::optional(bound.string(0, ""));
  return split(text, separator, bound.integer(1, -1), from_right, interpreter.budget());
}

Value split_lines_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("splitlines", arguments, {"keepends"});
  return split_lines(text, bound.flag(0, false), interpreter.budget());
}

template <Case how>
Value case_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("upper, lower, title or capitalize", arguments, {});
  interpreter.budget().make_text(text.size());
  interpreter.budget().spend(text.size() / 4);
  return with_case(text, how);
}

// Whether it begins, or ends, with a string or one of a tuple.
template <bool at_end>
Value affix_method(Interpreter&, const Text& text, const Arguments& arguments) {
  if (arguments.positional.size() > 1) fail_unsupported("startswith and endswith with a range");
  const Bound bound("startswith or endswith", arguments, {"prefix"});
  const auto holds = [&](const Value& affix) {
    const Text* part = affix.as_text();
    if (part == nullptr) fail("startswith and endswith need a string or a tuple of strings");
    return at_end ? text.bytes().ends_with(part->bytes()) : text.bytes().starts_with(part->bytes());
  };
  const Sequence* tuple = bound.require(0).as_sequence();
  if (tuple == nullptr || tuple->kind != Sequence::Kind::tuple) return holds(bound.require(0));
  return std::any_of(tuple->items.begin(), tuple->items.end(), holds);
}

template <bool at_end>
Value remove_affix(Interpreter&, const Text& text, const Arguments& arguments) {
  const Bound bound("removeprefix or removesuffix", arguments, {"affix"});
  bound.require(0);
  const std::string_view affix = bound.string(0, "");
  if (at_end ? !text.bytes().ends_with(affix) : !text.bytes().starts_with(affix)) return text;
  return at_end ? text.slice(0, text.size() - affix.size()) : text.slice(affix.size(), text.size());
}

Value replace_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"});
  bound.require(0);
  const Text* with = bound.require(1).as_text();
  if (with == nullptr) fail("replace() needs strings");
  return replace(text, bound.string(0, ""), *with, bound.integer(2, -1), interpreter.budget());
}

// The character at which it is found; -1, or an error, where it is not.
template <bool from_right, bool must>
Value find_in_text(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  if (arguments.positional.size() > 1) fail_unsupported("find and index with a range");
  const Bound bound("find or index", arguments, {"sub"});
  bound.require(0);
  interpreter.budget().spend(text.size() / 16);
  const std::string_view part = bound.string(0, "");
  const std::size_t found = from_right ? text.bytes().rfind(part) : text.bytes().find(part);
  if (found == std::string::npos && must) fail("the substring is not found");
  if (found == std::string::npos) return std::int64_t{-1};
  return static_cast<std::int64_t>(count_characters(std::string_view(text.bytes()).substr(0, found)));
}

Value count_in_text(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  if (arguments.positional.size() > 1) fail_unsupported("count with a range");
  const Bound bound("count", arguments, {"sub"});
  bound.require(0);
  interpreter.budget().spend(text.size() / 16);
  const std::string_view part = bound.string(0, "");
  if (part.empty()) return static_cast<std::int64_t>(count_characters(text.bytes()) + 1);
  std::int64_t count = 0;
  for (std::size_t at = text.bytes().find(part); at != std::string::npos;
       at = text.bytes().find(part, at + part.size())) {
    ++count;
  }
  return count;
}

Value join_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("join", arguments, {"iterable"});
  std::vector<Text> parts;
  for (const Value& item : items_of(bound.require(0), interpreter.budget())) {
    if (item.as_text() == nullptr) fail("join() needs strings, not " + std::string(item.type()));
    parts.push_back(*item.as_text());
  }
  return join(parts, text, interpreter.budget());
}

template <bool from_right>
Value partition_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("partition", arguments, {"sep"});
  bound.require(0);
  const std::string_view separator = bound.string(0, "");
  if (separator.empty()) fail("an empty separator");
  interpreter.budget().make(text.size());
  const std::size_t found = from_right ? text.bytes().rfind(separator) : text.bytes().find(separator);
  std::vector<Value> parts;
  if (found == std::string::npos) {
    parts = {Value(text), Value(Text()), Value(Text())};
    if (from_right) std::swap(parts[0], parts[2]);
  } else {
    const std::size_t behind = found + separator.size();
    parts = {text.slice(0, found), text.slice(found, behind), text.slice(behind, text.size())};
  }
  return Sequence(Sequence::Kind::tuple, std::move(parts));
}

template <int side>
Value pad_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("ljust, rjust or center", arguments, {"width", "fillchar"});
  bound.require(0);
  const Text fill = bound.has(1) ? *bound.text(1) : Text(" ");
  if (count_characters(fill.bytes()) != 1) fail("the fill character must be one character");
  const std::optional<Sides> filled = side < 0   ? std::optional(Sides::left)
                                      : side > 0 ? std::optional(Sides::right)
                                                 : std::nullopt;
  return pad(text, bound.count(0, 0), fill, filled, interpreter.budget());
}

bool is_alphabetic(char32_t c) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_L_MASK) != 0; }
int numeric_type(char32_t c) { return u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE); }
bool is_digit(char32_t c) { return numeric_type(c) == U_NT_DECIMAL || numeric_type(c) == U_NT_DIGIT; }
bool is_decimal(char32_t c) { return numeric_type(c) == U_NT_DECIMAL; }
bool is_any_numeric(char32_t c) { return numeric_type(c) != U_NT_NONE; }
bool is_alphanumeric(char32_t c) { return is_alphabetic(c) || is_any_numeric(c); }

// Whether there are characters, and all are of a kind.
template <bool (*of_kind)(char32_t)>
Value all_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("isalpha and the like", arguments, {});
  interpreter.budget().spend(text.size() / 4);
  const std::u32string chars = tokenizer::to_chars(text.bytes());
  return !chars.empty() && std::all_of(chars.begin(), chars.end(), of_kind);
}

Value is_ascii_method(Interpreter&, const Text& text, const Arguments&) {
  return std::all_of(text.bytes().begin(), text.bytes().end(), [](char c) { return (c & 0x80) == 0; });
}

// Whether there are letters that have case, and all of these are of one.
template <bool upper>
Value one_case_method(Interpreter& interpreter, const Text& text, const Arguments& arguments) {
  const Bound bound("isupper or islower", arguments, {});
  interpreter.budget().spend(text.size() / 4);
  bool any = false;
  for (const char32_t c : tokenizer::to_chars(text.bytes())) {
    const auto code = static_cast<UChar32>(c);
    if (upper ? u_isULowercase(code) : u_isUUppercase(code)) return false;
    if (u_charType(code) == U_TITLECASE_LETTER) return false;
    any = any || (upper ? u_isUUppercase(code) : u_isULowercase(code));
  }
  return any;
}

struct NamedTextMethod {
  std::string_view name;
  TextMethod method;
};
constexpr NamedTextMethod kTextMethods[] = {
    {"strip", strip_method<Sides::both>},
    {"lstrip", strip_method<Sides::left>},
    {"rstrip", strip_method<Sides::right>},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", split_lines_method},
    {"upper", case_method<Case::upper>},
    {"lower", case_method<Case::lower>},
    {"title", case_method<Case::title>},
    {"capitalize", case_method<Case::capital>},
    {"swapcase", case_method<Case::swapped>},
    {"startswith", affix_method<false>},
    {"endswith", affix_method<true>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace_method},
    {"find", find_in_text<false, false>},
    {"rfind", find_in_text<true, false>},
    {"index", find_in_text<false, true>},
    {"rindex", find_in_text<true, true>},
    {"count", count_in_text},
    {"join", join_method},
    {"partition", partition_method<false>},
    {"rpartition", partition_method<true>},
    {"ljust", pad_method<1>},
    {"rjust", pad_method<-1>},
    {"center", pad_method<0>},
    {"isalpha", all_method<is_alphabetic>},
    {"isdigit", all_method<is_digit>},
    {"isdecimal", all_method<is_decimal>},
    {"isnumeric", all_method<is_any_numeric>},
    {"isalnum", all_method<is_alphanumeric>},
    {"isspace", all_method<is_space>},
    {"isascii", is_ascii_method},
    {"isupper", one_case_method<true>},
    {"islower", one_case_method<false>},
};
// Those that only Python has.
constexpr std::array<std::string_view, 11> kOtherTextMethods = {"casefold",   "encode",       "expandtabs",  "format",
                                                                "format_map", "isidentifier", "isprintable", "istitle",
                                                                "maketrans",  "translate",    "zfill"};
constexpr std::array<std::string_view, 9> kListChanges = {"append", "clear",  "copy",    "extend", "insert",
                                                          "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 6> kDictChanges = {"clear",      "pop",    "popitem",
                                                          "setdefault", "update", "fromkeys"};

template <std::size_t n>
bool is_among(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<Value> find_text_method(const Value& object, std::string_view name) {
  for (const auto& [known, method] : kTextMethods) {
    if (known != name) continue;
    return Function{std::string(name), [object, method = method](Interpreter& interpreter, const Arguments& arguments) {
                      return method(interpreter, *object.as_text(), arguments);
                    }};
  }
  if (is_among(kOtherTextMethods, name)) fail_unsupported("the method '" + std::string(name) + "' of a string");
  return std::nullopt;
}

Value count_in_list(Interpreter& interpreter, const Value& object, const Arguments& arguments) {
  const Bound bound("count", arguments, {"value"});
  std::int64_t count = 0;
  for (const Value& item : object.as_sequence()->items) {
    count += equal(item, bound.require(0), interpreter.budget()) ? 1 : 0;
  }
  return count;
}

Value index_in_list(Interpreter& interpreter, const Value& object, const Arguments& arguments) {
  if (arguments.positional.size() > 1) fail_unsupported("index with a range");
  const Bound bound("index", arguments, {"value"});
  const std::vector<Value>& items = object.as_sequence()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(items[i], bound.require(0), interpreter.budget())) return static_cast<std::int64_t>(i);
  }
  fail("index(): the value is not in the list");
}

Value get_from_dict(Interpreter& interpreter, const Value& object, const Arguments& arguments) {
  const Bound bound("get", arguments, {"key", "default"});
  const Value* held = object.as_dict()->find(bound.require(0), interpreter.budget());
  return held != nullptr ? *held : bound.get(1, None{});
}

// What keys(), values() and items() give.
template <Sequence::Kind kind>
Value view_of_dict(Interpreter& interpreter, const Value& object, const Arguments& arguments) {
  const Bound bound("keys, values or items", arguments, {});
  std::vector<Value> items;
  for (const auto& [key, value] : object.as_dict()->entries) {
    if (kind == Sequence::Kind::items) {
      items.emplace_back(Sequence(Sequence::Kind::tuple, {key, value}));
    } else {
      items.push_back(kind == Sequence::Kind::keys ? key : value);
    }
  }
  interpreter.budget().spend(items.size());
  interpreter.budget().make(items.size() * (sizeof(Value) + sizeof(Sequence)));
  return Sequence(kind, std::move(items));
}

Value copy_of_dict(Interpreter&, const Value& object, const Arguments& arguments) {
  const Bound bound("copy", arguments, {});
  return object;
}

using ObjectMethod = Value (*)(Interpreter&, const Value&, const Arguments&);

Value method_of(std::string_view name, const Value& object, ObjectMethod method) {
  return Function{std::string(name), [object, method](Interpreter& interpreter, const Arguments& arguments) {
                    return method(interpreter, object, arguments);
                  }};
}

// Jinja's immutable sandbox has these only to refuse them.
Value refuse_change(Interpreter&, const Value&, const Arguments&) { fail("a template cannot change a list or a dict"); }

std::optional<Value> find_list_method(const Value& object, std::string_view name) {
  if (name == "count") return method_of(name, object, count_in_list);
  if (name == "index") return method_of(name, object, index_in_list);
  if (name == "copy" && object.as_sequence()->kind == Sequence::Kind::list) {
    return method_of(name, object, [](Interpreter&, const Value& list, const Arguments&) { return list; });
  }
  if (object.as_sequence()->kind == Sequence::Kind::list && is_among(kListChanges, name)) {
    return method_of(name, object, refuse_change);
  }
  return std::nullopt;
}

std::optional<Value> find_dict_method(const Value& object, std::string_view name) {
  if (name == "get") return method_of(name, object, get_from_dict);
  if (name == "keys") return method_of(name, object, view_of_dict<Sequence::Kind::keys>);
  if (name == "values") return method_of(name, object, view_of_dict<Sequence::Kind::values>);
  if (name == "items") return method_of(name, object, view_of_dict<Sequence::Kind::items>);
  if (name == "copy") return method_of(name, object, copy_of_dict);
  if (is_among(kDictChanges, name)) return method_of(name, object, refuse_change);
  return std::nullopt;
}

Value cycle(Loop& loop, const Arguments& arguments) {
  if (arguments.positional.empty()) fail("loop.cycle() needs values");
  return arguments.positional[loop.position % arguments.positional.size()];
}

Value changed(Interpreter& interpreter, Loop& loop, const Arguments& arguments) {
  const Value now = Sequence(Sequence::Kind::tuple, arguments.positional);
  const bool differs = !loop.changed || !equal(*loop.changed, now, interpreter.budget());
  loop.changed = now;
  return differs;
}

Value number(std::size_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

std::optional<Value> find_method(const Value& object, std::string_view name) {
  if (object.as_text() != nullptr) return find_text_method(object, name);
  if (object.as_dict() != nullptr) return find_dict_method(object, name);
  const Sequence* sequence = object.as_sequence();
  if (sequence != nullptr && sequence->can_index()) return find_list_method(object, name);
  return std::nullopt;
}

Value loop_attribute(Loop& loop, const Value& object, std::string_view name) {
  const std::size_t at = loop.position;
  if (name == "index") return number(at + 1);
  if (name == "index0") return number(at);
  if (name == "first") return at == 0;
  if (name == "last") return !loop.reaches(at + 1);
  if (name == "length") return number(loop.length());
  if (name == "revindex") return number(loop.length() - at);
  if (name == "revindex0") return number(loop.length() - at - 1);
  if (name == "depth") return number(1);
  if (name == "depth0") return number(0);
  if (name == "previtem") return at == 0 ? Value::undefined("there is no previous item") : loop.accepted[at - 1];
  if (name == "nextitem") {
    return loop.reaches(at + 1) ? loop.accepted[at + 1] : Value::undefined("there is no next item");
  }
  if (name == "cycle") {
    return Function{"cycle",
                    [object](Interpreter&, const Arguments& given) { return cycle(*object.as_loop(), given); }};
  }
  if (name == "changed") {
    return Function{"changed", [object](Interpreter& interpreter, const Arguments& given) {
                      return changed(interpreter, *object.as_loop(), given);
                    }};
  }
  return Value::undefined("a loop has no '" + std::string(name) + "'");
}

}  // namespace sightline::jinja
