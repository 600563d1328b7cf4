#ifndef SIGHTLINE_TEMPLATE_GLOBALS_H_
#define SIGHTLINE_TEMPLATE_GLOBALS_H_

#include <ctime>
#include <string_view>
#include <vector>

#include "src/template/function.h"

namespace sightline::jinja {

struct GlobalFunction {
  std::string_view name;
  Value value;
};

/// range, dict, namespace, and what chat templates get beyond Jinja: raise_exception, strftime_now.
const std::vector<GlobalFunction>& global_functions();

/// Python's datetime.strftime in English. Throws Fault for a directive that is not known.
Text format_time(const Text& format, const std::tm& time);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_GLOBALS_H_
