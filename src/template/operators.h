#ifndef SIGHTLINE_TEMPLATE_OPERATORS_H_
#define SIGHTLINE_TEMPLATE_OPERATORS_H_

#include <string_view>

#include "src/template/value.h"

namespace sightline::jinja {

/// `a name b` for + - * / // % **, as Python computes it. Throws Fault.
Value apply_binary(std::string_view name, const Value& a, const Value& b, Budget& budget);
Value negate(const Value& value);
Value unary_plus(const Value& value);
/// == != < <= > >= in, and "not in".
bool apply_comparison(std::string_view name, const Value& a, const Value& b, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);
/// value[begin:end:step]; each may be None.
Value slice(const Value& value, const Value& begin, const Value& end, const Value& step, Budget& budget);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_OPERATORS_H_
