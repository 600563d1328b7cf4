#include "cli/picture_file.h"

#include <fmt/core.h>

#include <filesystem>

#include "cli/interrupt.h"
#include "cli/streams.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

std::string ending(const std::string& path) { return std::filesystem::path(path).extension().string(); }

}  // namespace

bool names_picture(const std::string& path) { return ending(path) == ".png" || ending(path) == ".svg"; }

void require_picture(const std::string& path, std::string_view what) {
  if (path.empty() || names_picture(path)) return;
  throw UsageError(fmt::format("{}: {} drawn as .png or .svg: name the file so", path, what));
}

void save_picture(const std::string& path, const format::Picture& picture, format::Font& font) {
  format::AtomicFile file(path);
  const format::ByteSink sink = [&](std::span<const std::byte> bytes) { file.write(bytes); };
  ProgressLine progress("drawing");
  const bool was_stopped = interrupting_signal() != 0;
  const format::Progress step = [&](double share) {
    if (!was_stopped) progress(share);
  };
  if (ending(path) == ".png") {
    write_png(picture, font, sink, step);
  } else {
    write_svg(picture, sink, step);
  }
  file.commit();
}

void draw_output(const Options& options, const std::function<format::Picture(format::Font&)>& draw) {
  if (options.output.empty()) return;
  format::Font font;
  save_picture(options.output, draw(font), font);
  write_note("wrote " + options.output);
}

void note_nothing_drawn(const Options& options) {
  if (!options.output.empty()) write_note(options.output + ": not written, as there is nothing to draw");
}

}  // namespace sightline::cli
