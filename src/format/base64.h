#ifndef SIGHTLINE_FORMAT_BASE64_H_
#define SIGHTLINE_FORMAT_BASE64_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sightline::format {

/// The bytes as base64 (RFC 4648, padded), which no parser of HTML takes for anything else.
std::string base64(std::span<const std::byte> bytes);

/// The bytes again; nothing for a text that base64() would not have written.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_BASE64_H_
