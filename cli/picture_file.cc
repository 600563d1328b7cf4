#include "cli/picture_file.h"

#include <filesystem>

#include "cli/streams.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

std::string ending(const std::string& path) { return std::filesystem::path(path).extension().string(); }

}  // namespace

bool names_picture(const std::string& path) { return ending(path) == ".png" || ending(path) == ".svg"; }

void save_picture(const std::string& path, const format::Picture& picture, format::Font& font) {
  format::AtomicFile file(path);
  const format::ByteSink sink = [&](std::span<const std::byte> bytes) { file.write(bytes); };
  ProgressLine progress("drawing");
  const format::Progress step = [&](double share) { progress(share); };
  if (ending(path) == ".png") {
    write_png(picture, font, sink, step);
  } else {
    write_svg(picture, sink, step);
  }
  file.commit();
}

}  // namespace sightline::cli
