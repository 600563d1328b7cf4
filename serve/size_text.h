#ifndef SIGHTLINE_SERVE_SIZE_TEXT_H_
#define SIGHTLINE_SERVE_SIZE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace sightline::serve {

/// Bytes as people read them: "340 bytes", "87 MB", "2.3 GB" (powers of 1024).
std::string size_text(std::size_t bytes);
/// The least whole size that holds them, as options take it: "3G".
std::string size_option(std::size_t bytes);
/// "500K", "64M", "3G", "1048576" or any of these with a B at its end. Throws BadArgument.
std::size_t parse_size(std::string_view text);

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_SIZE_TEXT_H_
