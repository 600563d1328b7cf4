#ifndef SIGHTLINE_TEMPLATE_VALUE_H_
#define SIGHTLINE_TEMPLATE_VALUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/template/budget.h"
#include "src/template/text.h"

namespace sightline::jinja {

class Value;
struct Sequence;
struct Dict;
struct Namespace;
struct Function;
struct Loop;

struct Undefined {
  std::string what;  // "'tools' is undefined": what is said where it is used
};
struct None {};

/// A value as Python has them. Strings, lists and dicts never change once they are made (Jinja's immutable sandbox
/// forbids it); namespaces do, and belong to the interpreter.
class Value {
 public:
  using Variant =
      std::variant<std::shared_ptr<const Undefined>, None, bool, std::int64_t, double, std::shared_ptr<const Text>,
                   std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, Namespace*,
                   std::shared_ptr<const Function>, std::shared_ptr<Loop>>;

  Value() : held_(std::shared_ptr<const Undefined>()) {}
  Value(None none) : held_(none) {}
  Value(bool value) : held_(value) {}
  Value(std::int64_t value) : held_(value) {}
  Value(double value) : held_(value) {}
  Value(Text text) : held_(std::make_shared<const Text>(std::move(text))) {}
  Value(Sequence sequence);
  Value(Dict dict);
  Value(Function function);
  Value(Namespace* names) : held_(names) {}
  Value(std::shared_ptr<Loop> loop) : held_(std::move(loop)) {}
  static Value undefined(std::string what);
  static Value text(std::string_view plain) { return Value(Text(std::string(plain))); }

  bool is_undefined() const { return held_.index() == 0; }
  bool is_none() const { return std::holds_alternative<None>(held_); }
  const bool* as_bool() const { return std::get_if<bool>(&held_); }
  const std::int64_t* as_int() const { return std::get_if<std::int64_t>(&held_); }
  const double* as_real() const { return std::get_if<double>(&held_); }
  const Text* as_text() const { return pointer<const Text>(); }
  const Sequence* as_sequence() const { return pointer<const Sequence>(); }
  const Dict* as_dict() const { return pointer<const Dict>(); }
  const Function* as_function() const { return pointer<const Function>(); }
  Namespace* as_namespace() const {
    const auto* held = std::get_if<Namespace*>(&held_);
    return held == nullptr ? nullptr : *held;
  }
  Loop* as_loop() const { return pointer<Loop>(); }

  std::optional<std::int64_t> integer() const;  // booleans are 0 and 1
  std::optional<double> number() const;         // integers and booleans too
  bool truth() const;
  std::string_view type() const;  // as Python names it
  std::size_t nesting() const;    // 0 for what holds no values
  const std::string& undefined_what() const;

 private:
  template <class T>
  T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }
  Variant held_;
};

struct Sequence {
  enum class Kind : std::uint8_t { list, tuple, range, keys, values, items, generator };
  Sequence(Kind kind, std::vector<Value> items);

  bool is_view() const { return kind == Kind::keys || kind == Kind::values || kind == Kind::items; }
  bool can_index() const { return kind == Kind::list || kind == Kind::tuple || kind == Kind::range; }

  Kind kind;
  std::vector<Value> items;
  std::size_t nesting;
  mutable std::size_t taken = 0;  // items that a generator has handed out already
};

/// Keys in the order in which they were first set.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::size_t nesting = 1;

  /// Throws Fault where nested too deeply, or the key is of a type that Python cannot hash.
  void set(const Value& key, Value value, Budget& budget);
  const Value* find(const Value& key, Budget& budget) const;
  const Value* find(std::string_view key) const;
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

[[noreturn]] void fail(std::string message);              // of kind argument
[[noreturn]] void fail_unsupported(std::string message);  // of kind unsupported

bool equal(const Value& a, const Value& b, Budget& budget);
/// <0, 0, >0; nothing where one is NaN. Throws Fault for types that have no order, naming `operation` ("<").
std::optional<int> compare(const Value& a, const Value& b, std::string_view operation, Budget& budget);

/// What Python's str() and repr() give.
Text to_text(const Value& value, Budget& budget);
std::string real_text(double value);
void append_repr(const Value& value, TextBuilder& out, Budget& budget);

/// The items that a `for` goes over: of lists, the characters of a string, the keys of a dict. What a generator hands
/// out is gone then. Throws Fault for what cannot be gone over.
std::vector<Value> items_of(const Value& value, Budget& budget);
bool is_iterable(const Value& value);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_VALUE_H_
