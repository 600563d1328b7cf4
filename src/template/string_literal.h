#ifndef SIGHTLINE_TEMPLATE_STRING_LITERAL_H_
#define SIGHTLINE_TEMPLATE_STRING_LITERAL_H_

#include <string>
#include <string_view>

namespace sightline::jinja {

/// What a string of the source means: Python's escapes. Throws SourceFault for line `line`.
std::string unescape(std::string_view literal, int line);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_STRING_LITERAL_H_
