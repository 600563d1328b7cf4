#include "cli/view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "cli/display_text.h"
#include "cli/prompt_input.h"
#include "cli/streams.h"
#include "src/engine/knock_out.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

// Which keys the rows of a map do not see.
std::string hidden_note(const engine::ScoreRule& rule) {
  std::string before, after;
  if (rule.window_left >= 0) before = fmt::format("the {} before it", rule.window_left);
  if (rule.window_right >= 0 && !rule.causal) after = fmt::format("the {} after it", rule.window_right);
  if (before.empty() && after.empty()) return "A row sees its own token and those before it";
  if (rule.causal) return fmt::format("A row sees its own token and {}", before);
  return fmt::format("A row sees its own token, {} and {}", before.empty() ? "all before it" : before,
                     after.empty() ? "all after it" : after);
}

// The items of `cols` of which the tokens of `row` see anything.
engine::KeyRange items_seen(const engine::Look& look, const engine::MapId& id, const engine::AxisItem& row,
                            const engine::Axis& cols) {
  const auto keys = static_cast<std::int64_t>(look.tokens().size());
  const engine::ScoreRule& rule = look.rule(id);
  const std::int64_t from = rule.visible(row.token_begin, keys).begin, to = rule.visible(row.token_end - 1, keys).end;
  const auto first = std::ranges::partition_point(cols, [&](const auto& item) { return item.token_end <= from; });
  const auto last = std::partition_point(first, cols.end(), [&](const auto& item) { return item.token_begin < to; });
  return {first - cols.begin(), last - cols.begin()};
}

// Whether knock-outs take all that the tokens of `row` would see of those of `col`.
bool is_cut(const engine::Look& look, const engine::MapId& id, const engine::AxisItem& row,
            const engine::AxisItem& col) {
  const auto keys = static_cast<std::int64_t>(look.tokens().size());
  for (std::int64_t i = row.token_begin; i < row.token_end; ++i) {
    const engine::KeyRange seen = look.rule(id).visible(i, keys);
    for (std::int64_t j = col.token_begin; j < col.token_end; ++j) {
      if (seen.has(j) && !look.is_cut(id, i, j)) return false;
    }
  }
  return true;
}

// A map of `count` tokens in cells of `step` x `step`, as the engine pools it.
Weights block_weights(const engine::Look& look, const engine::MapId& id, std::int64_t count, std::int64_t step,
                      const std::function<engine::KeyRange(std::int64_t)>& visible) {
  const std::int64_t cells = (count + step - 1) / step;
  Weights weights{
      cells, cells, [look, id, count, step](std::int64_t begin, std::int64_t end, std::span<float> out) {
        const auto block = look.block({{id}, false, begin * step, std::min(end * step, count), 0, count, step});
        std::copy(block.begin(), block.end(), out.begin());
      }};
  if (visible) {
    weights.visible = [visible, count, step](std::int64_t row) {
      const engine::KeyRange first = visible(row * step), last = visible(std::min((row + 1) * step, count) - 1);
      return engine::KeyRange{first.begin / step, (last.end + step - 1) / step};
    };
  }
  return weights;
}

}  // namespace

void require_top(const Options& options, int most) {
  if (!options.top || (*options.top >= 1 && *options.top <= most)) return;
  const bool bounded = most < std::numeric_limits<int>::max();
  throw UsageError(fmt::format("--top is {}: it can be 1 {}", *options.top,
                               bounded ? fmt::format("to {}", most) : std::string("or more")));
}

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

model::OpenOptions open_options(const Options& options) { return {options.strict, {options.pre}}; }

engine::Session open_session(const Options& options) {
  const engine::ModelLocation location = chosen_model(options);
  engine::SessionOptions session;
  session.threads = options.threads;
  session.name = location.name;
  session.max_tokens = options.context;
  session.files = open_options(options);
  engine::Session opened = engine::Session::open(location.path, session);
  for (const std::string& warning : opened.model().warnings) write_note(warning);
  return opened;
}

engine::LookOptions look_options(const Options& options, std::optional<int> top) {
  engine::LookOptions chosen;
  chosen.truncate = options.truncate;
  if (top) chosen.top = *top;
  chosen.hidden = std::ranges::find(options.save, "hidden") != options.save.end();
  chosen.knock_outs = options.knock_outs;
  return chosen;
}

void note_what_is_missing(const engine::Look& look, std::string_view text) {
  if (look.cut_tokens() > 0) {
    write_note(fmt::format("{} was cut: its last {} tokens were left out", text, look.cut_tokens()));
  }
  std::string dropped;
  for (const engine::DroppedText& gap : look.dropped()) {
    dropped += (dropped.empty() ? "" : ", ") + look.text().substr(gap.byte_begin, gap.byte_end - gap.byte_begin);
  }
  if (!dropped.empty())
    write_note(fmt::format("the tokenizer drops this part of {}: {}", text, fit_columns(dropped, 100, false)));
  for (const std::string& note : knock_out_notes(look.knock_outs(), look.model().config.causal)) write_note(note);
}

engine::Look look_at_text(const Options& options, std::optional<int> top, bool one_layer) {
  const PromptInput input = read_prompt(options);
  engine::LookOptions how = look_options(options, top);
  if (one_layer && options.layer) how.keep_layers = {*options.layer};
  const engine::Session session = open_session(options);
  engine::Look look = session.look(prompt_of(input, options, session, /*answering=*/false), how);
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
  if (id && look.rule(*id).hides()) notes.push_back(hidden_note(look.rule(*id)));
  if (id && !look.rule(*id).sinks.empty()) {
    notes.push_back(fmt::format("The head's sink takes {:.0f} % of the rows' weight: they add up to the rest",
                                100 * look.summary(*id).sink_share));
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
  return label_text(item.label, painter.terminal().utf8);
}

bool reads_blank(double share) { return !std::isnan(share) && std::lround(share * 100) < 1; }

std::string known_number(double value, std::string text) {
  if (!std::isnan(value)) return text;
  return text.starts_with(' ') ? fmt::format("{:>{}}", "??", text.size()) : "??";
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

std::string share_bar(double share, int columns, const Painter& painter) {
  const auto filled = share > 0 ? static_cast<int>(std::lround(std::min(share, 1.0) * columns)) : 0;
  std::string drawn;
  for (int i = 0; i < filled; ++i) drawn += painter.glyph("━", "=");
  return pad_right(drawn, columns, painter.terminal().utf8);
}

ShownItems all_items(engine::Axis axis) {
  ShownItems shown;
  shown.of = std::ssize(axis);
  shown.items = std::make_shared<const engine::Axis>(std::move(axis));
  shown.numbers.resize(static_cast<std::size_t>(shown.of));
  std::iota(shown.numbers.begin(), shown.numbers.end(), 1);
  return shown;
}

ShownItems some_items(const engine::Axis& axis, const std::vector<std::int64_t>& indexes) {
  engine::Axis items;
  ShownItems shown;
  for (const std::int64_t i : indexes) {
    items.push_back(axis[static_cast<std::size_t>(i)]);
    shown.numbers.push_back(i + 1);
  }
  shown.items = std::make_shared<const engine::Axis>(std::move(items));
  shown.of = std::ssize(axis);
  return shown;
}

Weights item_weights(const engine::Look& look, const engine::MapId& id, const ShownItems& rows,
                     const ShownItems& cols) {
  Weights weights;
  weights.rows = std::ssize(*rows.items);
  weights.cols = std::ssize(*cols.items);
  weights.read = [look, id, rows = rows.items, cols = cols.items](std::int64_t begin, std::int64_t end,
                                                                  std::span<float> out) {
    const std::span<const engine::AxisItem> all(*rows);
    const auto strip = all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    const engine::Grid grid = look.grid(id, strip, *cols);
    std::copy(grid.weights.begin(), grid.weights.end(), out.begin());
  };
  if (look.rule(id).hides()) {
    weights.visible = [look, id, rows = rows.items, cols = cols.items](std::int64_t row) {
      return items_seen(look, id, (*rows)[static_cast<std::size_t>(row)], *cols);
    };
  }
  if (look.has_cuts(id)) {
    weights.cut = [look, id, rows = rows.items, cols = cols.items](std::int64_t row, std::int64_t col) {
      return is_cut(look, id, (*rows)[static_cast<std::size_t>(row)], (*cols)[static_cast<std::size_t>(col)]);
    };
  }
  return weights;
}

Weights token_weights(const engine::Look& look, const engine::MapId& id, const ShownItems& tokens) {
  Weights weights = item_weights(look, id, tokens, tokens);
  weights.at_step = [look, id, count = weights.rows, visible = weights.visible](std::int64_t step) {
    return block_weights(look, id, count, step, visible);
  };
  return weights;
}

void add_knock_outs(Painter& painter, std::span<const engine::TextKnockOut> knock_outs) {
  for (const engine::TextKnockOut& knock_out : knock_outs) {
    painter.note(fmt::format("Knocked out: {}: {}", displayable(knock_out.spec, painter.terminal().utf8),
                             engine::extent_text(knock_out)));
  }
}

std::string stopped_note(std::string_view what) { return fmt::format("Not all of the {}: it was stopped", what); }

void add_caveat(Painter& painter) {
  painter.paragraph(
      {{Ink::accent, std::string(painter.glyph("◢", "*"))}, {Ink::plain, fmt::format(" {}", engine::kCaveat)}});
}

}  // namespace sightline::cli
