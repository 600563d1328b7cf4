#include "src/template/predicates.h"

#include <algorithm>

#include "src/template/filters.h"
#include "src/template/interpreter.h"
#include "src/template/methods.h"
#include "src/template/operators.h"

namespace sightline::jinja {
namespace {

using Predicate = bool (*)(const Value&);

template <Predicate predicate>
bool plain(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("a test", arguments, {});
  return predicate(value);
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_string(const Value& value) { return value.as_text() != nullptr; }
bool is_mapping(const Value& value) { return value.as_dict() != nullptr; }
bool is_boolean(const Value& value) { return value.as_bool() != nullptr; }
bool is_true(const Value& value) { return value.as_bool() != nullptr && *value.as_bool(); }
bool is_false(const Value& value) { return value.as_bool() != nullptr && !*value.as_bool(); }
bool is_integer(const Value& value) { return value.as_int() != nullptr; }
bool is_real(const Value& value) { return value.as_real() != nullptr; }
bool is_number(const Value& value) { return value.number().has_value(); }
bool is_callable(const Value& value) { return value.as_function() != nullptr || value.is_undefined(); }
bool is_sequence(const Value& value) {
  const Sequence* sequence = value.as_sequence();
  return sequence != nullptr ? sequence->can_index() : is_string(value) || is_mapping(value) || value.is_undefined();
}

// Whether a string has letters, all in one case.
template <bool upper>
bool is_in_case(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("upper or lower", arguments, {});
  const Value text = to_text(value, interpreter.budget());
  return interpreter.call(*find_method(text, upper ? "isupper" : "islower"), {}).truth();
}

Value remainder(Interpreter& interpreter, const Value& value, const Value& divisor) {
  return apply_binary("%", value, divisor, interpreter.budget());
}

template <int rest>
bool has_parity(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("even or odd", arguments, {});
  const Value two = std::int64_t{2};
  return equal(remainder(interpreter, value, two), Value(std::int64_t{rest}), interpreter.budget());
}

bool is_divisible(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("divisibleby", arguments, {"num"});
  return equal(remainder(interpreter, value, bound.require(0)), Value(std::int64_t{0}), interpreter.budget());
}

constexpr char kEqual[] = "==", kNotEqual[] = "!=", kLess[] = "<", kLessEqual[] = "<=", kGreater[] = ">",
               kGreaterEqual[] = ">=", kIn[] = "in";

template <const char* operation>
bool compares(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(operation, arguments, {"other"});
  return apply_comparison(operation, value, bound.require(0), interpreter.budget());
}

// `is` of Python: as far as it does not depend on how Python stores small values.
bool is_same(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("sameas", arguments, {"other"});
  const Value& other = bound.require(0);
  if (value.type() != other.type()) return false;
  if (value.as_sequence() != nullptr) return value.as_sequence() == other.as_sequence();
  if (value.as_dict() != nullptr) return value.as_dict() == other.as_dict();
  return equal(value, other, interpreter.budget());
}

bool is_filter(Interpreter&, const Value& value, const Arguments&) {
  return value.as_text() != nullptr && find_filter(value.as_text()->bytes()) != nullptr;
}

bool is_test(Interpreter&, const Value& value, const Arguments&) {
  return value.as_text() != nullptr && find_test(value.as_text()->bytes()) != nullptr;
}

struct NamedTest {
  std::string_view name;
  Test test;
};
constexpr NamedTest kTests[] = {
    {"defined", plain<is_defined>},
    {"undefined", plain<is_undefined>},
    {"none", plain<is_none>},
    {"string", plain<is_string>},
    {"mapping", plain<is_mapping>},
    {"boolean", plain<is_boolean>},
    {"true", plain<is_true>},
    {"false", plain<is_false>},
    {"integer", plain<is_integer>},
    {"float", plain<is_real>},
    {"number", plain<is_number>},
    {"callable", plain<is_callable>},
    {"iterable", plain<is_iterable>},
    {"sequence", plain<is_sequence>},
    {"upper", is_in_case<true>},
    {"lower", is_in_case<false>},
    {"even", has_parity<0>},
    {"odd", has_parity<1>},
    {"divisibleby", is_divisible},
    {"eq", compares<kEqual>},
    {"equalto", compares<kEqual>},
    {"==", compares<kEqual>},
    {"ne", compares<kNotEqual>},
    {"!=", compares<kNotEqual>},
    {"lt", compares<kLess>},
    {"lessthan", compares<kLess>},
    {"<", compares<kLess>},
    {"le", compares<kLessEqual>},
    {"<=", compares<kLessEqual>},
    {"gt", compares<kGreater>},
    {"greaterthan", compares<kGreater>},
    {">", compares<kGreater>},
    {"ge", compares<kGreaterEqual>},
    {">=", compares<kGreaterEqual>},
    {"in", compares<kIn>},
    {"sameas", is_same},
    {"filter", is_filter},
    {"test", is_test},
};

}  // namespace

Test find_test(std::string_view name) {
  for (const NamedTest& known : kTests) {
    if (known.name == name) return known.test;
  }
  return nullptr;
}

}  // namespace sightline::jinja
