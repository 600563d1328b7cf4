// The interpreter's expressions, and how attributes and items are found.
#include <algorithm>
#include <array>

#include "src/template/interpreter.h"
#include "src/template/methods.h"
#include "src/template/operators.h"

namespace sightline::jinja {
namespace {

// What Jinja has under these names, and this engine has not.
constexpr std::array<std::string_view, 6> kUnsupportedNames = {"varargs", "kwargs", "cycler",
                                                               "joiner",  "lipsum", "self"};

Value list_of(Sequence::Kind kind, std::vector<Value> items) { return Sequence(kind, std::move(items)); }

Value missing(const Value& object, std::string_view name) {
  return Value::undefined("a " + std::string(object.type()) + " has no " + std::string(name));
}

std::string quoted(std::string_view name) { return std::string("'").append(name).append("'"); }

Value element(const std::vector<Value>& items, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(items.size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) return Value::undefined("a list has no element of that index");
  return items[index];
}

Value character(const Text& text, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(count_characters(text.bytes()));
  if (index < 0) index += count;
  if (index < 0 || index >= count) return Value::undefined("a string has no character of that index");
  const std::size_t begin = byte_of_character(text.bytes(), index);
  return text.slice(begin, begin + byte_of_character(std::string_view(text.bytes()).substr(begin), 1));
}

}  // namespace

Value Interpreter::evaluate_here(const Expression& expression, const ScopePtr& scope) {
  using Kind = Expression::Kind;
  const auto part = [&](std::size_t i) { return evaluate(*expression.parts[i], scope); };
  switch (expression.kind) {
    case Kind::constant:
      return expression.constant;
    case Kind::name:
      return name(expression, scope);
    case Kind::list:
      return list_of(Sequence::Kind::list, evaluate_all(expression.parts, scope));
    case Kind::tuple:
      return list_of(Sequence::Kind::tuple, evaluate_all(expression.parts, scope));
    case Kind::dict:
      return dict(expression, scope);
    case Kind::negation:
      return negate(part(0));
    case Kind::plus:
      return unary_plus(part(0));
    case Kind::logical_not:
      return !part(0).truth();
    case Kind::logical_and:
    case Kind::logical_or: {
      const Value left = part(0);
      return left.truth() == (expression.kind == Kind::logical_or) ? left : part(1);
    }
    case Kind::binary: {
      const Value left = part(0);
      return apply_binary(expression.name, left, part(1), budget_);
    }
    case Kind::compare:
      return compare(expression, scope);
    case Kind::concat:
      return concat(expression, scope);
    case Kind::conditional:
      return conditional(expression, scope);
    case Kind::attribute:
      return attribute(part(0), expression.name);
    case Kind::item: {
      const Value object = part(0);
      return item(object, part(1));
    }
    case Kind::slice:
      return slice_of(expression, scope);
    case Kind::call:
      return call_of(expression, scope);
    case Kind::filter: {
      const Value input = part(0);
      return expression.filter(*this, input, evaluate(expression.arguments, scope));
    }
    case Kind::test: {
      const Value input = part(0);
      return expression.test(*this, input, evaluate(expression.arguments, scope));
    }
    case Kind::captured:
      return captured_;
  }
  return {};
}

Value Interpreter::name(const Expression& expression, const ScopePtr& scope) {
  if (const Value* value = scope->find(expression.name)) return *value;
  const auto& unsupported = kUnsupportedNames;
  if (std::find(unsupported.begin(), unsupported.end(), expression.name) != unsupported.end()) {
    fail_unsupported("'" + expression.name + "'");
  }
  return Value::undefined("'" + expression.name + "' is undefined");
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExpressionPtr>& parts, const ScopePtr& scope) {
  std::vector<Value> values;
  budget_.make(parts.size() * sizeof(Value));
  for (const ExpressionPtr& part : parts) values.push_back(evaluate(*part, scope));
  return values;
}

Value Interpreter::dict(const Expression& expression, const ScopePtr& scope) {
  Dict dict;
  for (std::size_t i = 0; i < expression.parts.size(); i += 2) {
    const Value key = evaluate(*expression.parts[i], scope);
    dict.set(key, evaluate(*expression.parts[i + 1], scope), budget_);
  }
  return dict;
}

Value Interpreter::compare(const Expression& expression, const ScopePtr& scope) {
  Value left = evaluate(*expression.parts[0], scope);
  for (std::size_t i = 0; i < expression.operations.size(); ++i) {
    Value right = evaluate(*expression.parts[i + 1], scope);
    if (!apply_comparison(expression.operations[i], left, right, budget_)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::concat(const Expression& expression, const ScopePtr& scope) {
  TextBuilder out;
  for (const Value& value : evaluate_all(expression.parts, scope)) {
    const Text text = to_text(value, budget_);
    budget_.check_text(out.size() + text.size());
    out.append(text);
  }
  budget_.make(out.size());
  return out.take();
}

Value Interpreter::conditional(const Expression& expression, const ScopePtr& scope) {
  if (evaluate(*expression.parts[1], scope).truth()) return evaluate(*expression.parts[0], scope);
  if (expression.parts[2] != nullptr) return evaluate(*expression.parts[2], scope);
  return Value::undefined("an 'if' without 'else' gave nothing");
}

Value Interpreter::slice_of(const Expression& expression, const ScopePtr& scope) {
  const auto part = [&](std::size_t i) {
    return expression.parts[i] == nullptr ? Value(None{}) : evaluate(*expression.parts[i], scope);
  };
  const Value object = part(0), begin = part(1), end = part(2), step = part(3);
  return slice(object, begin, end, step, budget_);
}

Arguments Interpreter::evaluate(const CallArguments& parts, const ScopePtr& scope) {
  Arguments arguments;
  arguments.positional = evaluate_all(parts.positional, scope);
  for (const auto& [name, value] : parts.named) arguments.named.emplace_back(Text(name), evaluate(*value, scope));
  if (parts.star != nullptr) {
    for (Value& value : items_of(evaluate(*parts.star, scope), budget_)) {
      arguments.positional.push_back(std::move(value));
    }
  }
  if (parts.double_star != nullptr) {
    const Value value = evaluate(*parts.double_star, scope);
    if (value.as_dict() == nullptr) fail("'**' needs a dict");
    for (const auto& [key, held] : value.as_dict()->entries) {
      if (key.as_text() == nullptr) fail("'**' needs names that are strings");
      arguments.named.emplace_back(*key.as_text(), held);
    }
  }
  return arguments;
}

Value Interpreter::call_of(const Expression& expression, const ScopePtr& scope) {
  const Expression& called = *expression.parts[0];
  const Value callee = evaluate(called, scope);
  if (callee.is_undefined() && called.kind == Expression::Kind::name) {
    fail_unsupported("the function '" + called.name + "'");
  }
  const Arguments arguments = evaluate(expression.arguments, scope);
  line_ = expression.line;
  return call(callee, arguments);
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) fail(callee.undefined_what());
  const Function* function = callee.as_function();
  if (function == nullptr) fail("a value of type " + std::string(callee.type()) + " cannot be called");
  return function->call(*this, arguments);
}

Value Interpreter::attribute(const Value& object, std::string_view name) {
  if (object.is_undefined()) fail(object.undefined_what());
  if (Loop* loop = object.as_loop()) return loop_attribute(*loop, object, name);
  if (const Namespace* names = object.as_namespace()) {
    const Value* held = names->find(name);
    return held != nullptr ? *held : missing(object, quoted(name));
  }
  if (auto method = find_method(object, name)) return *method;
  if (const Dict* dict = object.as_dict()) {
    budget_.spend(dict->entries.size() / 16);
    if (const Value* held = dict->find(name)) return *held;
  }
  return missing(object, quoted(name));
}

Value Interpreter::item(const Value& object, const Value& key) {
  if (object.is_undefined()) fail(object.undefined_what());
  if (const Dict* dict = object.as_dict()) {
    if (const Value* held = dict->find(key, budget_)) return *held;
  }
  const Sequence* sequence = object.as_sequence();
  const auto index = key.integer();
  if (sequence != nullptr && sequence->can_index() && index) return element(sequence->items, *index);
  if (object.as_text() != nullptr && index) {
    budget_.spend(object.as_text()->size() / 16);
    return character(*object.as_text(), *index);
  }
  if (key.as_text() != nullptr) return attribute(object, key.as_text()->bytes());
  return missing(object, "key of type " + std::string(key.type()));
}

}  // namespace sightline::jinja
