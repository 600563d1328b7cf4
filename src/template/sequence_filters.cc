// Filters of lists and dicts.
#include <algorithm>
#include <functional>

#include "src/template/filters.h"
#include "src/template/interpreter.h"
#include "src/template/operators.h"
#include "src/template/predicates.h"
#include "src/template/text_operations.h"

namespace sightline::jinja {
namespace {

using Values = std::vector<Value>;
using Key = std::function<Value(const Value&)>;

Value list_of(Values items) { return Sequence(Sequence::Kind::list, std::move(items)); }
Value generator_of(Values items) { return Sequence(Sequence::Kind::generator, std::move(items)); }

// "a.b.0" is the item "a" of a value, of that the item "b", of that the item 0.
Value item_by_path(Interpreter& interpreter, Value value, const Value& path) {
  if (path.integer()) return interpreter.item(value, path);
  if (path.as_text() == nullptr) fail("an attribute must be a string or an integer");
  const Value parts = split(*path.as_text(), ".", -1, false, interpreter.budget());
  for (const Value& part : parts.as_sequence()->items) {
    const std::string& name = part.as_text()->bytes();
    const bool is_index = !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == name.npos;
    value = interpreter.item(value, is_index ? Value(static_cast<std::int64_t>(std::stol(name))) : part);
  }
  return value;
}

Value without_case(const Value& value) {
  return value.as_text() != nullptr ? Value(with_case(*value.as_text(), Case::lower)) : value;
}

// What values are compared by: an attribute, in lower case unless case counts.
Key key_of(Interpreter& interpreter, const Value* attribute, bool case_sensitive) {
  return [&interpreter, attribute, case_sensitive](const Value& item) {
    const bool given = attribute != nullptr && !attribute->is_none();
    const Value value = given ? item_by_path(interpreter, item, *attribute) : item;
    if (value.as_text() != nullptr) interpreter.budget().spend(value.as_text()->size() / 8);
    return case_sensitive ? value : without_case(value);
  };
}

// The same for `sort`, where there may be several attributes: a list, in which equal values need no order.
Key sort_key_of(Interpreter& interpreter, const Value* attribute, bool case_sensitive) {
  const bool is_text = attribute != nullptr && attribute->as_text() != nullptr;
  Values attributes = {attribute != nullptr ? *attribute : Value(None{})};
  if (is_text) attributes = split(*attribute->as_text(), ",", -1, false, interpreter.budget()).as_sequence()->items;
  return [&interpreter, attributes, case_sensitive](const Value& item) {
    Values parts;
    for (const Value& one : attributes) parts.push_back(key_of(interpreter, &one, case_sensitive)(item));
    interpreter.budget().make(parts.size() * sizeof(Value) + sizeof(Sequence));
    return list_of(std::move(parts));
  };
}

// Stable, by keys. std::sort may not be given an order that is none, as NaN makes it: this merges by hand.
void sort_by_keys(Values& items, const Key& key, bool reverse, Budget& budget) {
  std::vector<std::pair<Value, Value>> pairs;
  for (const Value& item : items) pairs.emplace_back(key(item), item);
  const auto before = [&](const auto& a, const auto& b) {
    const auto order = compare(reverse ? b.first : a.first, reverse ? a.first : b.first, "<", budget);
    return order && *order < 0;
  };
  // Merging neighbouring runs asks each pair once, and ends whatever the answers are.
  for (std::size_t run = 1; run < pairs.size(); run *= 2) {
    std::vector<std::pair<Value, Value>> merged;
    for (std::size_t begin = 0; begin < pairs.size(); begin += 2 * run) {
      const std::size_t middle = std::min(begin + run, pairs.size()), end = std::min(middle + run, pairs.size());
      std::size_t a = begin, b = middle;
      while (a < middle || b < end) {
        const bool from_right = a == middle || (b < end && before(pairs[b], pairs[a]));
        merged.push_back(std::move(from_right ? pairs[b++] : pairs[a++]));
      }
    }
    pairs = std::move(merged);
  }
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = std::move(pairs[i].second);
}

const Value* argument(const Bound& bound, std::size_t index) {
  return bound.has(index) ? &bound.require(index) : nullptr;
}

Value sort_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const Value* attribute = argument(bound, 2);
  Values items = items_of(input, interpreter.budget());
  sort_by_keys(items, sort_key_of(interpreter, attribute, bound.flag(1, false)), bound.flag(0, false),
               interpreter.budget());
  return list_of(std::move(items));
}

Value unique(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const Key key = key_of(interpreter, argument(bound, 1), bound.flag(0, false));
  Dict seen;
  Values items;
  for (const Value& item : items_of(input, interpreter.budget())) {
    const Value by = key(item);
    if (by.as_dict() == nullptr && seen.find(by, interpreter.budget()) != nullptr) continue;
    seen.set(by, None{}, interpreter.budget());
    items.push_back(item);
  }
  return generator_of(std::move(items));
}

template <bool largest>
Value extreme(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("min or max", arguments, {"case_sensitive", "attribute"});
  const Key key = key_of(interpreter, argument(bound, 1), bound.flag(0, false));
  const Values items = items_of(input, interpreter.budget());
  if (items.empty()) return Value::undefined("there is no smallest or largest of nothing");
  std::size_t best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    const auto order = compare(key(items[i]), key(items[best]), largest ? ">" : "<", interpreter.budget());
    if (order && (largest ? *order > 0 : *order < 0)) best = i;
  }
  return items[best];
}

Value dict_sort(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string_view by = bound.string(1, "key");
  if (by != "key" && by != "value") fail("dictsort: 'by' must be \"key\" or \"value\"");
  if (input.is_undefined()) fail(input.undefined_what());
  if (input.as_dict() == nullptr) fail("dictsort needs a dict");
  Values items;
  for (const auto& [key, value] : input.as_dict()->entries) {
    items.emplace_back(Sequence(Sequence::Kind::tuple, {key, value}));
  }
  interpreter.budget().make(items.size() * (sizeof(Value) + sizeof(Sequence)));
  const Value index = std::int64_t{by == "key" ? 0 : 1};
  sort_by_keys(items, key_of(interpreter, &index, bound.flag(0, false)), bound.flag(2, false), interpreter.budget());
  return list_of(std::move(items));
}

Value first(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("first", arguments, {});
  const Sequence* sequence = input.as_sequence();
  if (sequence != nullptr && sequence->taken < sequence->items.size()) {
    const std::size_t at = sequence->taken;
    if (sequence->kind == Sequence::Kind::generator) ++sequence->taken;
    return sequence->items[at];
  }
  const Values items = items_of(input, interpreter.budget());
  return items.empty() ? Value::undefined("there is no first item") : items[0];
}

Value last(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("last", arguments, {});
  const Sequence* sequence = input.as_sequence();
  if (sequence != nullptr && sequence->kind == Sequence::Kind::generator) fail("a generator has no last item");
  if (sequence != nullptr && !sequence->items.empty()) return sequence->items.back();
  const Values items = items_of(input, interpreter.budget());
  return items.empty() ? Value::undefined("there is no last item") : items.back();
}

Value length(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("length", arguments, {});
  std::size_t count = 0;
  if (const Text* text = input.as_text()) {
    interpreter.budget().spend(text->size() / 16);
    count = count_characters(text->bytes());
  } else if (const Dict* dict = input.as_dict()) {
    count = dict->entries.size();
  } else if (input.as_sequence() != nullptr && input.as_sequence()->kind != Sequence::Kind::generator) {
    count = input.as_sequence()->items.size();
  } else if (!input.is_undefined()) {
    fail("a value of type " + std::string(input.type()) + " has no length");
  }
  return static_cast<std::int64_t>(count);
}

Value list(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("list", arguments, {});
  return list_of(items_of(input, interpreter.budget()));
}

Value reverse(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("reverse", arguments, {});
  if (const Text* text = input.as_text()) {
    interpreter.budget().make_text(text->size());
    interpreter.budget().spend(text->size() / 8);
    return reversed(*text);
  }
  const bool is_generator = input.as_sequence() != nullptr && input.as_sequence()->kind == Sequence::Kind::generator;
  Values items = items_of(input, interpreter.budget());
  std::reverse(items.begin(), items.end());
  return is_generator ? list_of(std::move(items)) : generator_of(std::move(items));
}

Value join_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  std::vector<Text> parts;
  for (const Value& item : items_of(input, interpreter.budget())) {
    const bool by_attribute = bound.has(1) && !bound.require(1).is_none();
    parts.push_back(
        to_text(by_attribute ? item_by_path(interpreter, item, bound.require(1)) : item, interpreter.budget()));
    interpreter.budget().make(parts.back().size());
  }
  return join(parts, to_text(bound.get(0, Value(Text())), interpreter.budget()), interpreter.budget());
}

Value default_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool replaced = input.is_undefined() || (bound.flag(1, false) && !input.truth());
  return replaced ? bound.get(0, Value(Text())) : input;
}

Value items_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("items", arguments, {});
  Values items;
  if (const Dict* dict = input.as_dict()) {
    for (const auto& [key, value] : dict->entries) items.emplace_back(Sequence(Sequence::Kind::tuple, {key, value}));
  } else if (!input.is_undefined()) {
    fail("items needs a dict");
  }
  interpreter.budget().spend(items.size());
  interpreter.budget().make(items.size() * (sizeof(Value) + sizeof(Sequence)));
  return generator_of(std::move(items));
}

Value attr(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("attr", arguments, {"name"});
  bound.require(0);
  // A dict's keys are no attributes.
  if (input.as_dict() != nullptr) {
    Dict empty;
    return interpreter.attribute(Value(empty), bound.string(0, ""));
  }
  return interpreter.attribute(input, bound.string(0, ""));
}

Value sum(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  Value total = bound.get(1, Value(std::int64_t{0}));
  if (total.as_text() != nullptr) fail("sum cannot add strings");
  for (const Value& item : items_of(input, interpreter.budget())) {
    const bool by_attribute = bound.has(0) && !bound.require(0).is_none();
    total = apply_binary("+", total, by_attribute ? item_by_path(interpreter, item, bound.require(0)) : item,
                         interpreter.budget());
  }
  return total;
}

Value batch(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"});
  bound.require(0);
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(bound.count(0, 1), 1));
  Values batches, current;
  for (const Value& item : items_of(input, interpreter.budget())) {
    if (current.size() == count) batches.push_back(list_of(std::exchange(current, {})));
    current.push_back(item);
  }
  const bool fills = bound.has(1) && !bound.require(1).is_none();
  if (fills && !current.empty()) {
    interpreter.budget().make((count - current.size()) * sizeof(Value));
    current.resize(count, bound.require(1));
  }
  if (!current.empty()) batches.push_back(list_of(std::move(current)));
  interpreter.budget().make(batches.size() * (sizeof(Value) + sizeof(Sequence)));
  return generator_of(std::move(batches));
}

// What map, select and the like go over: what is false, None too, has no items for them.
Values items_if_true(const Value& input, Budget& budget) { return input.truth() ? items_of(input, budget) : Values(); }

// The arguments from `from` on, for the filter or test that one of them names.
Arguments rest_of(const Arguments& arguments, std::size_t from) {
  return {
      Values(arguments.positional.begin() + static_cast<std::ptrdiff_t>(std::min(from, arguments.positional.size())),
             arguments.positional.end()),
      arguments.named};
}

const std::string& name_argument(const Arguments& arguments, std::size_t index) {
  const Text* name = arguments.positional[index].as_text();
  if (name == nullptr) fail("the name of a filter or test must be a string");
  return name->bytes();
}

Value map_by_attribute(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("map", arguments, {"attribute", "default"});
  Values items = items_if_true(input, interpreter.budget());
  for (Value& item : items) {
    item = item_by_path(interpreter, item, bound.require(0));
    if (item.is_undefined() && bound.has(1) && !bound.require(1).is_none()) item = bound.require(1);
  }
  return generator_of(std::move(items));
}

Value map_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  if (arguments.positional.empty()) return map_by_attribute(interpreter, input, arguments);
  const std::string& name = name_argument(arguments, 0);
  const Filter filter = find_filter(name);
  if (filter == nullptr) fail_unsupported("the filter '" + name + "'");
  const Arguments rest = rest_of(arguments, 1);
  Values items = items_if_true(input, interpreter.budget());
  for (Value& item : items) {
    interpreter.budget().spend();
    item = filter(interpreter, item, rest);
  }
  return generator_of(std::move(items));
}

// Items of which (or of whose attribute) a test holds, or does not hold.
template <bool by_attribute, bool wanted>
Value select(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  constexpr std::size_t kFirst = by_attribute ? 1 : 0;
  if (arguments.positional.size() < kFirst) fail("selectattr and rejectattr need an attribute");
  Test test = nullptr;
  if (arguments.positional.size() > kFirst) {
    const std::string& name = name_argument(arguments, kFirst);
    test = find_test(name);
    if (test == nullptr) fail_unsupported("the test '" + name + "'");
  }
  const Arguments rest = rest_of(arguments, kFirst + 1);
  Values kept;
  for (const Value& item : items_if_true(input, interpreter.budget())) {
    const Value value = by_attribute ? item_by_path(interpreter, item, arguments.positional[0]) : item;
    interpreter.budget().spend();
    const bool holds = test != nullptr ? test(interpreter, value, rest) : value.truth();
    if (holds == wanted) kept.push_back(item);
  }
  return generator_of(std::move(kept));
}

constexpr NamedFilter kFilters[] = {
    {"sort", sort_filter},
    {"unique", unique},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"dictsort", dict_sort},
    {"first", first},
    {"last", last},
    {"length", length},
    {"count", length},
    {"list", list},
    {"reverse", reverse},
    {"join", join_filter},
    {"default", default_filter},
    {"d", default_filter},
    {"items", items_filter},
    {"attr", attr},
    {"sum", sum},
    {"batch", batch},
    {"map", map_filter},
    {"select", select<false, true>},
    {"reject", select<false, false>},
    {"selectattr", select<true, true>},
    {"rejectattr", select<true, false>},
};

}  // namespace

std::span<const NamedFilter> sequence_filters() { return kFilters; }

}  // namespace sightline::jinja
