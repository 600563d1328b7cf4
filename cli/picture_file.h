#ifndef SIGHTLINE_CLI_PICTURE_FILE_H_
#define SIGHTLINE_CLI_PICTURE_FILE_H_

#include <functional>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "src/format/picture.h"

namespace sightline::cli {

/// Whether a file is a picture by its name: .png or .svg.
bool names_picture(const std::string& path);
/// Throws UsageError for another name, or does nothing where there is none. `what`: "a comparison is".
void require_picture(const std::string& path, std::string_view what);

/// Writes the picture to that file, whole or not at all. A signal that comes meanwhile ends it; one that waited before
/// does not, so that what a command had done by then is drawn. Throws BadFile, Interrupted.
void save_picture(const std::string& path, const format::Picture& picture, format::Font& font);

/// Writes what `draw` makes to the file of -o, if there is one, and says so on standard error. Throws as
/// save_picture().
void draw_output(const Options& options, const std::function<format::Picture(format::Font&)>& draw);
/// The note in place of that where nothing was found that could be drawn.
void note_nothing_drawn(const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_PICTURE_FILE_H_
