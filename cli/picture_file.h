#ifndef SIGHTLINE_CLI_PICTURE_FILE_H_
#define SIGHTLINE_CLI_PICTURE_FILE_H_

#include <string>

#include "src/format/picture.h"

namespace sightline::cli {

/// Whether a file is a picture by its name: .png or .svg.
bool names_picture(const std::string& path);

/// Writes the picture to that file, whole or not at all. Throws BadFile, Interrupted.
void save_picture(const std::string& path, const format::Picture& picture, format::Font& font);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_PICTURE_FILE_H_
