#include "src/template/filters.h"

namespace sightline::jinja {

Filter find_filter(std::string_view name) {
  for (const auto& filters : {text_filters(), sequence_filters()}) {
    for (const NamedFilter& known : filters) {
      if (known.name == name) return known.filter;
    }
  }
  return nullptr;
}

}  // namespace sightline::jinja
