#include "cli/view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/display_text.h"
#include "cli/streams.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

void note_what_is_missing(const engine::Look& look) {
  if (look.cut_tokens() > 0) {
    write_note(fmt::format("the text was cut: its last {} tokens were left out", look.cut_tokens()));
  }
  std::string dropped;
  for (const engine::DroppedText& gap : look.dropped()) {
    dropped += (dropped.empty() ? "" : ", ") + look.text().substr(gap.byte_begin, gap.byte_end - gap.byte_begin);
  }
  if (!dropped.empty())
    write_note(fmt::format("the tokenizer drops this part of the text: {}", fit_columns(dropped, 100, false)));
}

}  // namespace

engine::ModelLocation chosen_model(const Options& options) {
  if (!options.model.empty()) return engine::find_model(options.model);
  const std::filesystem::path directory = engine::default_model_directory();
  if (!format::is_present(directory)) {
    throw BadFile(
        fmt::format("{}: the default model is not there; fetch it with sightline pull {}, or name one with -m",
                    directory.string(), directory.filename().string()));
  }
  return engine::find_model(directory.string());
}

engine::Session open_session(const Options& options) {
  return engine::Session::open(chosen_model(options).path, {options.threads});
}

engine::Look look_at_text(const Options& options, std::optional<int> top) {
  const std::string text = read_text(options);
  engine::LookOptions look_options;
  look_options.truncate = options.truncate;
  if (top) look_options.top = *top;
  engine::Look look = open_session(options).look(text, look_options);
  note_what_is_missing(look);
  return look;
}

std::vector<engine::MapId> chosen_maps(const engine::Look& look, const Options& options) {
  look.require({options.layer.value_or(1), options.head.value_or(1)});
  std::vector<engine::MapId> maps = look.maps();
  std::erase_if(maps, [&](const engine::MapId& id) {
    return options.layer.value_or(id.layer) != id.layer || options.head.value_or(id.head) != id.head;
  });
  return maps;
}

engine::MapId chosen_map(const engine::Look& look, const Options& options) {
  return look.sharpest(chosen_maps(look, options));
}

engine::Axis chosen_axis(const engine::Look& look, const Options& options) {
  return look.axis(options.pieces, !options.no_special);
}

std::string_view unit_name(const Options& options) { return options.pieces ? "tokens" : "words"; }

std::vector<std::string> axis_notes(const engine::Look& look, const engine::Axis& axis, const Options& options,
                                    const std::optional<engine::MapId>& id) {
  std::vector<std::string> notes;
  if (std::any_of(axis.begin(), axis.end(), [](const auto& item) { return item.token_end - item.token_begin > 1; })) {
    notes.push_back("Pieces of a word are merged: weight to it is their sum, from it their mean");
  }
  if (!options.no_special) return notes;
  std::string share;
  if (id) {
    double sum = 0;
    for (const engine::AxisItem& row : axis) sum += look.special_share(*id, row);
    share = fmt::format(": {:.0f} % of these rows' weight", 100 * sum / static_cast<double>(axis.size()));
  }
  notes.push_back(fmt::format("Special tokens are set aside, not redistributed{}", share));
  return notes;
}

std::string item_label(const engine::AxisItem& item, const Painter& painter) {
  return displayable(item.label, painter.terminal().utf8);
}

bool reads_blank(double share) { return !std::isnan(share) && std::lround(share * 100) < 1; }

bool heavier(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
  return a > b;
}

std::string percent(double share, int width) {
  if (std::isnan(share)) return fmt::format("{:>{}}", "??", width);
  if (reads_blank(share)) return std::string(static_cast<std::size_t>(width), ' ');
  const long whole = std::lround(share * 100);
  return fmt::format("{:>{}}", width < 3 ? std::min(whole, 99L) : whole, width);
}

std::string percent_cell(double share, const Painter& painter) {
  return painter.coloured() ? percent(share, 3) : fmt::format(" {}", percent(share, 2));
}

Weights item_weights(const engine::Look& look, const engine::MapId& id, const engine::Axis& axis) {
  const auto items = std::make_shared<const engine::Axis>(axis);
  const auto count = static_cast<std::int64_t>(items->size());
  auto read = [look, id, items](std::int64_t row_begin, std::int64_t row_end, std::span<float> out) {
    const std::span<const engine::AxisItem> all(*items);
    const auto rows = all.subspan(static_cast<std::size_t>(row_begin), static_cast<std::size_t>(row_end - row_begin));
    const engine::Grid grid = look.grid(id, rows, all);
    std::copy(grid.weights.begin(), grid.weights.end(), out.begin());
  };
  return {count, count, std::move(read)};
}

void add_caveat(Painter& painter) {
  painter.paragraph(
      {{Ink::accent, std::string(painter.glyph("◢", "*"))}, {Ink::plain, fmt::format(" {}", engine::kCaveat)}});
}

}  // namespace sightline::cli
