#ifndef SIGHTLINE_TEMPLATE_FILTERS_H_
#define SIGHTLINE_TEMPLATE_FILTERS_H_

#include <span>
#include <string_view>

#include "src/template/syntax.h"

namespace sightline::jinja {

/// The filter of that name; null where there is none.
Filter find_filter(std::string_view name);

struct NamedFilter {
  std::string_view name;
  Filter filter;
};
std::span<const NamedFilter> text_filters();      // of strings and numbers
std::span<const NamedFilter> sequence_filters();  // of lists and dicts

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_FILTERS_H_
