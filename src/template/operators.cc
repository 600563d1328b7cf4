#include "src/template/operators.h"

#include <algorithm>
#include <cmath>

#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

constexpr const char* kTooBig = "an integer of more than 64 bits";

void require_defined(const Value& value) {
  if (value.is_undefined()) fail(value.undefined_what());
}

[[noreturn]] void refuse(std::string_view name, const Value& a, const Value& b) {
  require_defined(a);
  require_defined(b);
  fail("'" + std::string(name) + "' is not supported between " + std::string(a.type()) + " and " +
       std::string(b.type()));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) fail("a division by zero");
  if (a == INT64_MIN && b == -1) fail_unsupported(kTooBig);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  for (std::int64_t i = 0; i < exponent; ++i) {  // 63 rounds at most
    if (__builtin_mul_overflow(result, base, &result)) fail_unsupported(kTooBig);
  }
  return result;
}

Value integers(std::string_view name, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  if (name == "+") overflow = __builtin_add_overflow(a, b, &result);
  if (name == "-") overflow = __builtin_sub_overflow(a, b, &result);
  if (name == "*") overflow = __builtin_mul_overflow(a, b, &result);
  if (name == "//") result = floor_divide(a, b);
  if (name == "%") result = b == -1 ? 0 : a - floor_divide(a, b) * b;
  if (name == "**") result = power(a, b);
  if (overflow) fail_unsupported(kTooBig);
  return result;
}

double modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) return (rest < 0) != (b < 0) ? rest + b : rest;
  return std::copysign(0.0, b);
}

// As CPython does it, so that a == (a // b) * b + a % b as far as rounding lets it.
double floor_divide(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

double real_power(double a, double b) {
  if (a == 0 && b < 0) fail("0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(b) && b != std::floor(b)) fail_unsupported("complex numbers");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail("a power is too large");
  return result;
}

Value reals(std::string_view name, double a, double b) {
  if (name == "+") return a + b;
  if (name == "-") return a - b;
  if (name == "*") return a * b;
  if (name == "**") return real_power(a, b);
  if (b == 0) fail("a division by zero");
  if (name == "/") return a / b;
  return name == "//" ? floor_divide(a, b) : modulo(a, b);
}

Value numbers(std::string_view name, const Value& a, const Value& b) {
  const auto i = a.integer(), j = b.integer();
  const bool stays_integer = name != "/" && (name != "**" || (j && *j >= 0));
  if (i && j && stays_integer) return integers(name, *i, *j);
  return reals(name, *a.number(), *b.number());
}

Value concatenate(const Text& a, const Text& b, Budget& budget) {
  budget.make_text(a.size() + b.size());
  TextBuilder out;
  out.append(a);
  out.append(b);
  return out.take();
}

Value concatenate(const Sequence& a, const Sequence& b, Budget& budget) {
  budget.make((a.items.size() + b.items.size()) * sizeof(Value));
  std::vector<Value> items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return Sequence(a.kind, std::move(items));
}

bool is_list_or_tuple(const Sequence* sequence) {
  return sequence != nullptr && (sequence->kind == Sequence::Kind::list || sequence->kind == Sequence::Kind::tuple);
}

Value repeat(const Value& value, std::int64_t count, Budget& budget) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  const Text* text = value.as_text();
  const std::size_t size = text != nullptr ? text->size() : value.as_sequence()->items.size() * sizeof(Value);
  if (size > 0 && times > budget.limits().bytes / size) budget.make_text(budget.limits().bytes);
  if (size == 0) return value;
  if (text == nullptr) {
    budget.make(size * times);
    std::vector<Value> items;
    for (std::size_t i = 0; i < times; ++i) {
      items.insert(items.end(), value.as_sequence()->items.begin(), value.as_sequence()->items.end());
    }
    return Sequence(value.as_sequence()->kind, std::move(items));
  }
  budget.make_text(size * times);
  TextBuilder out;
  for (std::size_t i = 0; i < times; ++i) out.append(*text);
  return out.take();
}

bool can_repeat(const Value& value) { return value.as_text() != nullptr || is_list_or_tuple(value.as_sequence()); }

// Where a slice begins and ends, by Python's rules.
struct Range {
  std::int64_t begin, end, step;
};

std::int64_t slice_index(const Value& value) {
  const auto index = value.integer();
  if (!index) fail("a slice needs integers");
  return *index;
}

Range slice_range(std::int64_t count, const Value& begin, const Value& end, const Value& step) {
  Range range{0, count, step.is_none() ? 1 : slice_index(step)};
  if (range.step == 0) fail("a slice cannot have a step of 0");
  const bool back = range.step < 0;
  const auto clamp = [&](std::int64_t index) {
    if (index < 0) index = index < -count ? -1 : index + count;
    return back ? std::clamp<std::int64_t>(index, -1, count - 1) : std::clamp<std::int64_t>(index, 0, count);
  };
  range.begin = begin.is_none() ? (back ? count - 1 : 0) : clamp(slice_index(begin));
  range.end = end.is_none() ? (back ? -1 : count) : clamp(slice_index(end));
  return range;
}

template <class Visit>
void each_index(const Range& range, std::int64_t count, const Visit& visit) {
  if (range.step > 0) {
    for (std::int64_t i = range.begin; i < range.end; i += std::min(range.step, count + 1)) visit(i);
  } else {
    for (std::int64_t i = range.begin; i > range.end; i += std::max(range.step, -count - 1)) visit(i);
  }
}

Value slice_text(const Text& text, const Value& begin, const Value& end, const Value& step, Budget& budget) {
  const auto count = static_cast<std::int64_t>(count_characters(text.bytes()));
  const Range range = slice_range(count, begin, end, step);
  budget.make(text.size());
  if (range.step == 1) {
    const std::size_t from = byte_of_character(text.bytes(), range.begin);
    const std::size_t to = byte_of_character(text.bytes(), std::max(range.begin, range.end));
    return text.slice(from, to);
  }
  std::vector<std::size_t> starts;
  budget.spend(text.size() / 4);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!tokenizer::is_continuation(text.bytes()[at])) starts.push_back(at);
  }
  starts.push_back(text.size());
  TextBuilder out;
  each_index(range, count, [&](std::int64_t i) { out.append(text, starts[i], starts[i + 1]); });
  return out.take();
}

}  // namespace

Value apply_binary(std::string_view name, const Value& a, const Value& b, Budget& budget) {
  if (a.number() && b.number()) return numbers(name, a, b);
  const Text *s = a.as_text(), *t = b.as_text();
  const Sequence *list = a.as_sequence(), *other = b.as_sequence();
  if (name == "%" && s != nullptr) fail_unsupported("formatting with '%'");
  if (name == "+" && s != nullptr && t != nullptr) return concatenate(*s, *t, budget);
  if (name == "+" && is_list_or_tuple(list) && is_list_or_tuple(other) && list->kind == other->kind) {
    return concatenate(*list, *other, budget);
  }
  if (name == "*" && can_repeat(a) && b.integer()) return repeat(a, *b.integer(), budget);
  if (name == "*" && can_repeat(b) && a.integer()) return repeat(b, *a.integer(), budget);
  refuse(name, a, b);
}

Value negate(const Value& value) {
  if (const double* real = value.as_real()) return -*real;
  require_defined(value);
  const auto integer = value.integer();
  if (!integer) fail("'-' is not supported for " + std::string(value.type()));
  return integers("-", 0, *integer);
}

Value unary_plus(const Value& value) {
  if (const double* real = value.as_real()) return *real;
  require_defined(value);
  const auto integer = value.integer();
  if (!integer) fail("'+' is not supported for " + std::string(value.type()));
  return *integer;
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  if (const Text* text = container.as_text()) {
    if (item.is_undefined()) fail(item.undefined_what());
    if (item.as_text() == nullptr) fail("'in' a string needs a string, not " + std::string(item.type()));
    budget.spend(text->size() / 16);
    return text->bytes().find(item.as_text()->bytes()) != std::string::npos;
  }
  if (const Dict* dict = container.as_dict()) {
    if (item.as_dict() != nullptr ||
        (item.as_sequence() != nullptr && item.as_sequence()->kind == Sequence::Kind::list)) {
      fail("a " + std::string(item.type()) + " cannot be a key of a dict");
    }
    return dict->find(item, budget) != nullptr;
  }
  const Sequence* sequence = container.as_sequence();
  if (sequence == nullptr && !container.is_undefined()) {
    fail("'in' is not supported for " + std::string(container.type()));
  }
  if (sequence == nullptr) return false;
  for (std::size_t i = sequence->taken; i < sequence->items.size(); ++i) {
    if (sequence->kind == Sequence::Kind::generator) sequence->taken = i + 1;
    if (equal(sequence->items[i], item, budget)) return true;
  }
  return false;
}

bool apply_comparison(std::string_view name, const Value& a, const Value& b, Budget& budget) {
  if (name == "==") return equal(a, b, budget);
  if (name == "!=") return !equal(a, b, budget);
  if (name == "in") return contains(b, a, budget);
  if (name == "not in") return !contains(b, a, budget);
  const auto order = compare(a, b, name, budget);
  if (!order) return false;
  if (name == "<") return *order < 0;
  if (name == "<=") return *order <= 0;
  return name == ">" ? *order > 0 : *order >= 0;
}

Value slice(const Value& value, const Value& begin, const Value& end, const Value& step, Budget& budget) {
  require_defined(value);
  if (const Text* text = value.as_text()) return slice_text(*text, begin, end, step, budget);
  const Sequence* sequence = value.as_sequence();
  if (sequence == nullptr || !sequence->can_index()) fail("a " + std::string(value.type()) + " cannot be sliced");
  const auto count = static_cast<std::int64_t>(sequence->items.size());
  std::vector<Value> items;
  each_index(slice_range(count, begin, end, step), count, [&](std::int64_t i) { items.push_back(sequence->items[i]); });
  budget.make(items.size() * sizeof(Value));
  budget.spend(items.size() / 4);
  return Sequence(sequence->kind, std::move(items));
}

}  // namespace sightline::jinja
