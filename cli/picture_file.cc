#include "cli/picture_file.h"

#include <fmt/core.h>

#include <cstddef>
#include <filesystem>
#include <span>

#include "cli/options.h"
#include "cli/streams.h"
#include "src/format/file.h"

namespace sightline::cli {

std::optional<PictureKind> picture_kind(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".png") return PictureKind::png;
  if (extension == ".svg") return PictureKind::svg;
  return std::nullopt;
}

PictureKind require_picture(const std::string& path, const std::string& what) {
  if (const auto kind = picture_kind(path)) return *kind;
  throw UsageError(fmt::format("{}: a picture of {} is written as .png or .svg: name the file so", path, what));
}

void write_picture(const std::string& path, PictureKind kind, const format::Picture& picture, format::Font& font) {
  format::AtomicFile file(path);
  const format::ByteSink sink = [&](std::span<const std::byte> bytes) { file.write(bytes); };
  ProgressLine progress("drawing");
  const format::Progress step = [&](double share) { progress(share); };
  kind == PictureKind::png ? write_png(picture, font, sink, step) : write_svg(picture, sink, step);
  file.commit();
}

}  // namespace sightline::cli
