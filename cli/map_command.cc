#include <fmt/core.h>

#include <filesystem>
#include <optional>

#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/interrupt.h"
#include "cli/map_picture.h"
#include "cli/picture_file.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/format/npy.h"

namespace sightline::cli {
namespace {

constexpr std::int64_t kNpyRows = 64;  // rows fetched at a time

// Nothing: numbers, as .npy.
std::optional<PictureKind> kind_of(const std::string& path) {
  const std::optional<PictureKind> kind = picture_kind(path);
  if (kind || std::filesystem::path(path).extension() == ".npy") return kind;
  throw UsageError(fmt::format("{}: a map is written as .png, .svg or .npy: name the file so", path));
}

MapSheet one_map(const engine::Look& look, const engine::MapId& id, const Options& options) {
  MapSheet sheet;
  sheet.title = fmt::format("Layer {}, head {}", id.layer, id.head);
  sheet.model = displayable(look.model().name, true);
  sheet.unit = unit_name(options);
  const ShownItems items = all_items(chosen_axis(look, options));
  sheet.notes = axis_notes(look, *items.items, options, id);
  for (const engine::AxisItem& item : *items.items) sheet.rows.push_back({label_text(item.label, true), item.special});
  sheet.cols = sheet.rows;
  sheet.weights = item_weights(look, id, items, items);
  return sheet;
}

HeadSheet all_maps(const engine::Look& look, const Options& options) {
  HeadSheet sheet;
  const bool by_token = is_long(look);
  const ShownItems items = all_items(by_token ? look.axis(true, true) : chosen_axis(look, options));
  sheet.title = fmt::format("{} layers × {} heads", look.layers(), look.heads());
  sheet.model = displayable(look.model().name, true);
  sheet.unit = by_token ? "tokens" : unit_name(options);
  if (!by_token) sheet.notes = axis_notes(look, *items.items, options, std::nullopt);
  sheet.layers = look.layers();
  sheet.heads = look.heads();
  const engine::MapId sharpest = look.sharpest();
  for (const engine::MapId& id : look.maps()) {
    const engine::MapSummary& summary = look.summary(id);
    sheet.tiles.push_back({by_token ? token_weights(look, id, items) : item_weights(look, id, items, items),
                           summary.entropy, summary.entropy_normalised, id == sharpest});
  }
  return sheet;
}

void write_map(PictureKind kind, const engine::Look& look, const engine::MapId& id, const Options& options) {
  format::Font font;
  const format::Picture picture =
      options.all ? draw_heads(all_maps(look, options), font) : draw_map(one_map(look, id, options), font);
  write_picture(options.output, kind, picture, font);
}

// [rows, cols], or for all heads [layers, heads, rows, cols].
void write_npy(const std::string& path, const engine::Look& look, const engine::MapId& id, const Options& options) {
  const ShownItems items = all_items(chosen_axis(look, options));
  const std::int64_t side = std::ssize(*items.items);
  std::vector<std::int64_t> shape = {side, side};
  if (options.all) shape.insert(shape.begin(), {look.layers(), look.heads()});
  const std::vector<engine::MapId> maps = options.all ? look.maps() : std::vector<engine::MapId>{id};
  format::NpyWriter file(path, shape);
  ProgressLine progress("writing");
  std::vector<float> strip;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Weights weights = item_weights(look, maps[i], items, items);
    for (std::int64_t row = 0; row < side; row += kNpyRows) {
      progress((static_cast<double>(i) + static_cast<double>(row) / static_cast<double>(side)) /
               static_cast<double>(maps.size()));
      const std::int64_t end = std::min(row + kNpyRows, side);
      strip.resize(static_cast<std::size_t>((end - row) * side));
      weights.read(row, end, strip);
      file.write(strip);
    }
  }
  file.finish();
}

}  // namespace

void run_map(const Options& options) {
  const std::optional<PictureKind> kind = kind_of(options.output);
  if (options.all && (options.layer || options.head))
    throw UsageError("--all draws every head: leave --layer and --head out");
  const engine::Look look = look_at_text(options, std::nullopt, true);
  const engine::MapId id = chosen_map(look, options);
  {
    const WritingScope writing;
    kind ? write_map(*kind, look, id, options) : write_npy(options.output, look, id, options);
    check_interrupt();
  }
  const std::string what = options.all ? "every head" : engine::map_name(id);
  write_output(fmt::format("wrote {} to {}\n{}\n", what, displayable(options.output, false), engine::kCaveat));
}

}  // namespace sightline::cli
