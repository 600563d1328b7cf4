#ifndef SIGHTLINE_CLI_PICTURE_FILE_H_
#define SIGHTLINE_CLI_PICTURE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "src/format/picture.h"

namespace sightline::cli {

enum class PictureKind : std::uint8_t { png, svg };

/// By the ending of the file's name; nothing for another one.
std::optional<PictureKind> picture_kind(const std::string& path);

/// The same of a file that can hold nothing but a picture of `what` ("the edges"); UsageError for another ending.
PictureKind require_picture(const std::string& path, const std::string& what);

/// Writes the file whole or not at all, with a line of progress. Throws BadFile; Interrupted where a signal waits.
void write_picture(const std::string& path, PictureKind kind, const format::Picture& picture, format::Font& font);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_PICTURE_FILE_H_
