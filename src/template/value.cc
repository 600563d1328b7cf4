#include "src/template/value.h"

#include <algorithm>
#include <cmath>

#include "src/template/function.h"
#include "src/template/loop.h"
#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

std::size_t check_nesting(std::size_t nesting) {
  if (nesting > kMaxNesting) throw Fault{Fault::Kind::runaway, "lists are nested too deeply"};
  return nesting;
}

std::size_t nesting_of(const std::vector<Value>& items) {
  std::size_t nesting = 0;
  for (const Value& item : items) nesting = std::max(nesting, item.nesting());
  return check_nesting(nesting + 1);
}

bool is_hashable(const Value& key) {
  if (key.as_dict() != nullptr) return false;
  const Sequence* sequence = key.as_sequence();
  if (sequence == nullptr) return true;
  return sequence->kind == Sequence::Kind::tuple &&
         std::all_of(sequence->items.begin(), sequence->items.end(), is_hashable);
}

bool equal_sequences(const Sequence& a, const Sequence& b, Budget& budget) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.kind == Sequence::Kind::generator || a.kind == Sequence::Kind::values) return false;
  if (a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!equal(a.items[i], b.items[i], budget)) return false;
  }
  return true;
}

bool equal_dicts(const Dict& a, const Dict& b, Budget& budget) {
  if (&a == &b) return true;
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.find(entry.first, budget);
    return other != nullptr && equal(entry.second, *other, budget);
  });
}

// Exact, also where an integer has no double of its value.
std::optional<int> compare_numbers(const Value& a, const Value& b) {
  const auto i = a.integer(), j = b.integer();
  if (i && j) return *i < *j ? -1 : *i > *j;
  const long double x = i ? static_cast<long double>(*i) : static_cast<long double>(*a.number());
  const long double y = j ? static_cast<long double>(*j) : static_cast<long double>(*b.number());
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return x < y ? -1 : x > y;
}

std::optional<int> compare_sequences(const Sequence& a, const Sequence& b, std::string_view operation, Budget& budget) {
  for (std::size_t i = 0; i < a.items.size() && i < b.items.size(); ++i) {
    if (!equal(a.items[i], b.items[i], budget)) return compare(a.items[i], b.items[i], operation, budget);
  }
  return a.items.size() < b.items.size() ? -1 : a.items.size() > b.items.size();
}

}  // namespace

void fail(std::string message) { throw Fault{Fault::Kind::argument, std::move(message)}; }
void fail_unsupported(std::string message) { throw Fault{Fault::Kind::unsupported, std::move(message)}; }

Value::Value(Sequence sequence) : held_(std::make_shared<const Sequence>(std::move(sequence))) {}
Value::Value(Dict dict) : held_(std::make_shared<const Dict>(std::move(dict))) {}
Value::Value(Function function) : held_(std::make_shared<const Function>(std::move(function))) {}

Value Value::undefined(std::string what) {
  Value value;
  value.held_ = std::make_shared<const Undefined>(Undefined{std::move(what)});
  return value;
}

const std::string& Value::undefined_what() const {
  static const std::string nothing = "an undefined value is used";
  const auto* held = pointer<const Undefined>();
  return held == nullptr ? nothing : held->what;
}

std::optional<std::int64_t> Value::integer() const {
  if (const bool* flag = as_bool()) return *flag ? 1 : 0;
  if (const std::int64_t* value = as_int()) return *value;
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (const double* value = as_real()) return *value;
  if (const auto value = integer()) return static_cast<double>(*value);
  return std::nullopt;
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (const auto value = number()) return *value != 0;
  if (const Text* text = as_text()) return text->size() > 0;
  if (const Sequence* sequence = as_sequence()) {
    return sequence->kind == Sequence::Kind::generator || !sequence->items.empty();
  }
  if (const Dict* dict = as_dict()) return !dict->entries.empty();
  return true;
}

std::string_view Value::type() const {
  constexpr std::string_view kNames[] = {"Undefined", "NoneType", "bool",      "int",      "float", "str",
                                         "sequence",  "dict",     "Namespace", "function", "loop"};
  constexpr std::string_view kSequences[] = {"list",        "tuple",      "range",    "dict_keys",
                                             "dict_values", "dict_items", "generator"};
  const Sequence* sequence = as_sequence();
  return sequence != nullptr ? kSequences[static_cast<int>(sequence->kind)] : kNames[held_.index()];
}

std::size_t Value::nesting() const {
  if (const Sequence* sequence = as_sequence()) return sequence->nesting;
  if (const Dict* dict = as_dict()) return dict->nesting;
  if (const Loop* loop = as_loop()) return loop->nesting();
  return 0;
}

Sequence::Sequence(Kind kind_, std::vector<Value> items_)
    : kind(kind_), items(std::move(items_)), nesting(nesting_of(items)) {}

void Dict::set(const Value& key, Value value, Budget& budget) {
  if (!is_hashable(key)) fail("a " + std::string(key.type()) + " cannot be a key of a dict");
  nesting = std::max(nesting, check_nesting(std::max(key.nesting(), value.nesting()) + 1));
  if (const Value* held = find(key, budget)) {
    const_cast<Value&>(*held) = std::move(value);
  } else {
    budget.make(sizeof(entries[0]));
    entries.emplace_back(key, std::move(value));
  }
}

const Value* Dict::find(const Value& key, Budget& budget) const {
  if (const Text* text = key.as_text()) {
    budget.spend(entries.size() / 8);
    return find(std::string_view(text->bytes()));
  }
  for (const auto& [held, value] : entries) {
    if (equal(held, key, budget)) return &value;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [held, value] : entries) {
    const Text* text = held.as_text();
    if (text != nullptr && text->bytes() == key) return &value;
  }
  return nullptr;
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [held, value] : attributes) {
    if (held == name) return &value;
  }
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  if (const Value* held = find(name)) {
    const_cast<Value&>(*held) = std::move(value);
  } else {
    attributes.emplace_back(name, std::move(value));
  }
}

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.spend();
  if (a.number() && b.number()) return compare_numbers(a, b) == 0;
  if (a.as_text() != nullptr && b.as_text() != nullptr) return a.as_text()->bytes() == b.as_text()->bytes();
  if (a.as_sequence() != nullptr && b.as_sequence() != nullptr) {
    return equal_sequences(*a.as_sequence(), *b.as_sequence(), budget);
  }
  if (a.as_dict() != nullptr && b.as_dict() != nullptr) return equal_dicts(*a.as_dict(), *b.as_dict(), budget);
  if (a.as_function() != nullptr) return a.as_function() == b.as_function();
  if (a.as_namespace() != nullptr) return a.as_namespace() == b.as_namespace();
  if (a.as_loop() != nullptr) return a.as_loop() == b.as_loop();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

std::optional<int> compare(const Value& a, const Value& b, std::string_view operation, Budget& budget) {
  budget.spend();
  if (a.is_undefined()) fail(a.undefined_what());
  if (b.is_undefined()) fail(b.undefined_what());
  if (a.number() && b.number()) return compare_numbers(a, b);
  if (a.as_text() != nullptr && b.as_text() != nullptr) {
    const int order = a.as_text()->bytes().compare(b.as_text()->bytes());
    return order < 0 ? -1 : order > 0;
  }
  const Sequence *s = a.as_sequence(), *t = b.as_sequence();
  const bool ordered = s != nullptr && t != nullptr && s->kind == t->kind &&
                       (s->kind == Sequence::Kind::list || s->kind == Sequence::Kind::tuple);
  if (ordered) return compare_sequences(*s, *t, operation, budget);
  fail("'" + std::string(operation) + "' is not supported between " + std::string(a.type()) + " and " +
       std::string(b.type()));
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.as_text() != nullptr || value.as_sequence() != nullptr ||
         value.as_dict() != nullptr;
}

std::vector<Value> items_of(const Value& value, Budget& budget) {
  std::vector<Value> items;
  if (const Sequence* sequence = value.as_sequence()) {
    items.assign(sequence->items.begin() + static_cast<std::ptrdiff_t>(sequence->taken), sequence->items.end());
    if (sequence->kind == Sequence::Kind::generator) sequence->taken = sequence->items.size();
  } else if (const Dict* dict = value.as_dict()) {
    for (const auto& entry : dict->entries) items.push_back(entry.first);
  } else if (const Text* text = value.as_text()) {
    budget.make(count_characters(text->bytes()) * (sizeof(Value) + sizeof(Text)));
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t length = tokenizer::decode_char(text->bytes(), at).length;
      items.emplace_back(text->slice(at, at + length));
      at += length;
    }
  } else if (!value.is_undefined()) {
    fail("a value of type " + std::string(value.type()) + " cannot be gone over");
  }
  budget.spend(items.size());
  budget.make(items.size() * sizeof(Value));
  return items;
}

}  // namespace sightline::jinja
