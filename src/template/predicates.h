#ifndef SIGHTLINE_TEMPLATE_PREDICATES_H_
#define SIGHTLINE_TEMPLATE_PREDICATES_H_

#include <string_view>

#include "src/template/syntax.h"

namespace sightline::jinja {

/// The test of that name (`x is name`); null where there is none.
Test find_test(std::string_view name);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_PREDICATES_H_
