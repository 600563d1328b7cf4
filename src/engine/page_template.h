#ifndef SIGHTLINE_ENGINE_PAGE_TEMPLATE_H_
#define SIGHTLINE_ENGINE_PAGE_TEMPLATE_H_

#include <string_view>

namespace sightline::engine {

/// The page as one file, without numbers: tools/link_page.py makes it of web/ when Sightline is built.
std::string_view page_template();

/// Where in the template the numbers go; it stands there once.
inline constexpr std::string_view kPageNumbers = "<!-- numbers -->";

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_PAGE_TEMPLATE_H_
