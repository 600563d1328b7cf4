#include "cli/token_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "cli/head_summary.h"
#include "cli/view.h"
#include "src/analysis/order.h"
#include "src/engine/words.h"

namespace sightline::cli {
namespace {

constexpr int kDefaultTop = 3;
constexpr int kHeadLabel = 4;  // "H12 "
constexpr int kLayerLabel = 5;
constexpr int kLeastKeyLabel = 7, kMostKeyLabel = 14;
constexpr std::size_t kStrongest = 5;  // heads in the line before the table

struct Key {
  std::size_t item = 0;
  float weight = 0;
};

// The row of one head, its keys by weight, of equals the earlier first.
struct HeadRow {
  engine::MapId map;
  std::vector<Key> keys;
};

class TokenView {
 public:
  TokenView(Painter& painter, const engine::Look& look, const Options& options)
      : painter_(painter),
        look_(look),
        options_(options),
        axis_(chosen_axis(look, options)),
        item_(engine::find_item(axis_, options.token)),
        unit_(unit_name(options)),
        top_(std::min(static_cast<std::size_t>(options.top.value_or(kDefaultTop)), axis_.size())) {
    special_ = static_cast<std::size_t>(std::ranges::count_if(axis_, &engine::AxisItem::special));
    for (const engine::MapId& id : chosen_maps(look, options)) rows_.push_back(read(id));
  }

  void add() {
    const bool summarised = has_many_heads(look_) && !options_.heads && !options_.layer;
    painter_.paragraph(
        {{Ink::accent, fmt::format("Where \"{}\" looks", label(item_))}, {Ink::plain, heading(summarised)}});
    if (rows_.size() > 1) add_strongest();
    if (summarised) top_ = 1;
    choose_columns(summarised ? kLayerLabel : 0);
    for (std::size_t begin = 0; begin < rows_.size();) {
      std::size_t end = begin;
      while (end < rows_.size() && rows_[end].map.layer == rows_[begin].map.layer) ++end;
      const auto layer = std::span(rows_).subspan(begin, end - begin);
      summarised ? add_layer_line(layer) : add_layer(layer);
      begin = end;
    }
    for (const std::string& note : axis_notes(look_, axis_, options_, std::nullopt)) painter_.note(note);
  }

 private:
  std::string heading(bool summarised) const {
    const std::size_t count = axis_.size() - (options_.pieces ? 0 : engine::count_white_space(axis_));
    if (summarised) {
      return fmt::format(
          ": of each layer the heads that look most at another of its {} {}, in % of the row's weight "
          "(--layer L shows a layer's heads, --heads all)",
          count, unit_);
    }
    return fmt::format(": in each head its top {} of {} {}, in % of the row's weight", top_, count, unit_);
  }

  std::string label(std::size_t item) const { return item_label(axis_[item], painter_); }

  HeadRow read(const engine::MapId& id) const {
    const engine::Grid grid = look_.grid(id, std::span(axis_).subspan(item_, 1), axis_);
    HeadRow row{id, {}};
    for (std::size_t i = 0; i < axis_.size(); ++i) row.keys.push_back({i, grid.weights[i]});
    const auto order = [](const Key& a, const Key& b) {
      return analysis::larger(a.weight, b.weight) || (!analysis::larger(b.weight, a.weight) && a.item < b.item);
    };
    const std::size_t kept = std::min(row.keys.size(), top_ + special_ + 1);  // with them strongest() finds one
    std::partial_sort(row.keys.begin(), row.keys.begin() + static_cast<std::ptrdiff_t>(kept), row.keys.end(), order);
    return {id, {row.keys.begin(), row.keys.begin() + static_cast<std::ptrdiff_t>(kept)}};
  }

  // The heaviest key of a row that is neither special nor the item itself.
  const Key* strongest(const HeadRow& row) const {
    const auto found = std::find_if(row.keys.begin(), row.keys.end(),
                                    [&](const Key& key) { return key.item != item_ && !axis_[key.item].special; });
    return found == row.keys.end() ? nullptr : &*found;
  }

  void add_strongest() {
    std::vector<std::pair<const HeadRow*, const Key*>> heads;
    for (const HeadRow& row : rows_) {
      const Key* key = strongest(row);
      if (key && !reads_blank(key->weight)) heads.emplace_back(&row, key);
    }
    if (heads.empty()) return;
    std::stable_sort(heads.begin(), heads.end(),
                     [](const auto& a, const auto& b) { return analysis::larger(a.second->weight, b.second->weight); });
    heads.resize(std::min(heads.size(), kStrongest));
    std::string line = "most elsewhere:";
    for (const auto& [row, key] : heads) {
      const std::string share = percent(key->weight, 3);
      const std::string entry =
          fmt::format(" {} {} {}", engine::map_name(row->map), fit_columns(label(key->item), kMostKeyLabel, utf8()),
                      std::string_view(share).substr(share.find_first_not_of(' ')));
      if (display_width(line) + display_width(entry) + 1 > painter_.terminal().width) break;
      line += (row == heads.front().first ? "" : ",") + entry;
    }
    painter_.soft(line).newline();
  }

  bool utf8() const { return painter_.terminal().utf8; }

  // As many heads side by side as leave their labels readable, beside `taken` columns.
  void choose_columns(int taken) {
    int longest = 1;
    for (std::size_t i = 0; i < axis_.size(); ++i) longest = std::max(longest, display_width(label(i)));
    const int width = painter_.terminal().width - taken, most = std::min(longest, kMostKeyLabel),
              top = static_cast<int>(top_);
    key_label_ = std::min(most, kLeastKeyLabel);
    const int entry = kHeadLabel + top * (key_label_ + 4);
    columns_ = std::clamp(width / entry, 1, 4);
    key_label_ = std::clamp(((width - columns_ + 1) / columns_ - kHeadLabel) / std::max(1, top) - 4, key_label_, most);
  }

  // Heads run down the columns, as in a dictionary.
  void add_layer(std::span<const HeadRow> rows) {
    painter_.bold(fmt::format("Layer {}", rows.front().map.layer)).newline();
    const std::size_t lines =
        (rows.size() + static_cast<std::size_t>(columns_) - 1) / static_cast<std::size_t>(columns_);
    for (std::size_t line = 0; line < lines; ++line) {
      for (std::size_t i = line; i < rows.size(); i += lines) {
        if (i > line) painter_.spaces(1);
        add_entry(rows[i]);
      }
      painter_.newline();
    }
  }

  // The heads of a layer that look most at something else, the strongest first.
  void add_layer_line(std::span<const HeadRow> rows) {
    std::vector<HeadRow> best;
    for (const HeadRow& row : rows) {
      if (const Key* key = strongest(row); key && !reads_blank(key->weight)) best.push_back({row.map, {*key}});
    }
    std::stable_sort(best.begin(), best.end(), [](const HeadRow& a, const HeadRow& b) {
      return analysis::larger(a.keys[0].weight, b.keys[0].weight);
    });
    if (std::cmp_greater(best.size(), columns_)) best.resize(static_cast<std::size_t>(columns_));
    painter_.bold(pad_right(fmt::format("L{}", rows.front().map.layer), kLayerLabel, utf8()));
    for (const HeadRow& row : best) {
      if (&row != &best.front()) painter_.spaces(1);
      add_entry(row);
    }
    painter_.newline();
  }

  void add_entry(const HeadRow& row) {
    const std::string head = pad_right(fmt::format("H{}", row.map.head), kHeadLabel, utf8());
    painter_.soft(head);
    int used = kHeadLabel;
    for (std::size_t i = 0; i < std::min(top_, row.keys.size()); ++i) {
      if (columns_ == 1 && used + key_label_ + 4 > painter_.terminal().width) {
        painter_.newline().spaces(kHeadLabel);
        used = kHeadLabel;
      }
      add_key(row.keys[i]);
      used += key_label_ + 4;
    }
  }

  void add_key(const Key& key) {
    if (reads_blank(key.weight)) {
      painter_.spaces(key_label_ + 4);
      return;
    }
    const std::string name = pad_left(label(key.item), key_label_, utf8());
    if (axis_[key.item].special) {
      painter_.soft(name);
    } else {
      painter_.text(name);
    }
    painter_.tinted(format::ease(key.weight), percent_cell(key.weight, painter_)).spaces(1);
  }

  Painter& painter_;
  const engine::Look& look_;
  const Options& options_;
  engine::Axis axis_;
  std::size_t item_;
  std::string unit_;
  std::size_t top_, special_ = 0;
  std::vector<HeadRow> rows_;
  int key_label_ = 1, columns_ = 1;
};

}  // namespace

void add_token_view(Painter& painter, const engine::Look& look, const Options& options) {
  TokenView(painter, look, options).add();
}

}  // namespace sightline::cli
