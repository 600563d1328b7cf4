#ifndef SIGHTLINE_FORMAT_DEFLATE_H_
#define SIGHTLINE_FORMAT_DEFLATE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace sightline::format {

/// The bytes in zlib's format (RFC 1950), packed as small as zlib packs. Throws OutOfMemory.
std::vector<std::byte> deflated(std::span<const std::byte> bytes);

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_DEFLATE_H_
