#ifndef SIGHTLINE_TEMPLATE_METHODS_H_
#define SIGHTLINE_TEMPLATE_METHODS_H_

#include <optional>
#include <string_view>

#include "src/template/interpreter.h"

namespace sightline::jinja {

/// A method of a string, a list or a dict, bound to it; nothing where Python has none of that name. Throws Fault for
/// those that Python has and this engine has not.
std::optional<Value> find_method(const Value& object, std::string_view name);

/// loop.index and the like; `object` is the value that holds the loop. Undefined for a name that is unknown.
Value loop_attribute(Loop& loop, const Value& object, std::string_view name);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_METHODS_H_
