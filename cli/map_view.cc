#include "cli/map_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cli/matrix.h"

namespace sightline::cli {
namespace {

constexpr std::int64_t kDetailRows = 12;    // rows shown below the blocks of a long text
constexpr std::int64_t kMostRanked = 4096;  // rows of --rows whose keys are ranked

std::vector<std::int64_t> range_of(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> indexes(static_cast<std::size_t>(end - begin));
  std::iota(indexes.begin(), indexes.end(), begin);
  return indexes;
}

[[noreturn]] void refuse_range(const char* option, const std::string& spec) {
  throw UsageError(
      fmt::format("{} {}: give it as A:B, the numbers of the first and the last, or A:, :B, A", option, spec));
}

std::int64_t number_of(const char* option, const std::string& spec, const std::string& digits, std::int64_t otherwise) {
  if (digits.empty()) return otherwise;
  const auto number = engine::parse_count(digits);
  if (!number || *number > (std::size_t{1} << 40)) refuse_range(option, spec);
  return static_cast<std::int64_t>(*number);
}

// Indexes (from 0) of the items that A:B names, both counted from 1 and included.
std::vector<std::int64_t> parse_range(const char* option, const std::string& spec, std::int64_t count) {
  const std::size_t colon = spec.find(':');
  const std::string first = spec.substr(0, colon), last = colon == std::string::npos ? first : spec.substr(colon + 1);
  if (first.empty() && last.empty()) refuse_range(option, spec);
  const std::int64_t begin = number_of(option, spec, first, 1), end = number_of(option, spec, last, count);
  if (begin > end && !last.empty()) refuse_range(option, spec);
  if (begin > count || end > count) {
    throw BadArgument(fmt::format("{} {}: the text has {} of them", option, spec, count));
  }
  return range_of(begin - 1, end);
}

// Item of each token; those that the axis leaves out have -1.
std::vector<std::int64_t> item_of_tokens(const engine::Axis& axis, std::size_t tokens) {
  std::vector<std::int64_t> items(tokens, -1);
  for (std::size_t i = 0; i < axis.size(); ++i) {
    std::fill(items.begin() + axis[i].token_begin, items.begin() + axis[i].token_end, static_cast<std::int64_t>(i));
  }
  return items;
}

// Indexes of the `most` items with the largest values, ascending; those without any value are left out.
std::vector<std::int64_t> heaviest(const std::vector<double>& values, std::int64_t most) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::int64_t i) { return !(values[static_cast<std::size_t>(i)] > 0); });
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  if (std::cmp_greater(order.size(), most)) order.resize(static_cast<std::size_t>(most));
  std::ranges::sort(order);
  return order;
}

// Shows parts of one map; what a long text leaves no room for is chosen here.
class MapView {
 public:
  MapView(Painter& painter, const engine::Look& look, const engine::MapId& map, const Options& options)
      : painter_(painter), look_(look), map_(map), options_(options), part_(chosen_part(look, options)) {}

  void add() {
    add_heading();
    const bool chosen = part_.rows_chosen || part_.cols_chosen;
    if (chosen) {
      add_part(part_.rows, part_.cols_chosen ? part_.cols : keys_of(part_.rows));
    } else if (fits()) {
      add_part(part_.rows, part_.cols);
    } else {
      add_blocks();
      add_detail();
    }
    for (const std::string& note : axis_notes(look_, *part_.rows.items, options_, map_)) painter_.note(note);
  }

 private:
  void add_heading() {
    const bool chosen = options_.layer && options_.head;
    const char* aside = look_.sets_first_aside() ? " (the sharpest, the first token set aside)"
                                                 : " (the sharpest, special tokens set aside)";
    painter_.paragraph({{Ink::accent, fmt::format("Layer {}, head {}", map_.layer, map_.head)},
                        {Ink::plain, ": row looks at column"},
                        {Ink::plain, chosen ? "" : aside}});
  }

  // Whether every item has a column of its own, however narrow.
  bool fits() const { return part_.cols.of <= painter_.terminal().width - painter_.terminal().width / 4 - 1; }

  void add_part(const ShownItems& rows, const ShownItems& cols) {
    add_matrix(painter_, rows, cols, item_weights(look_, map_, rows, cols), unit_name(options_));
  }

  void add_blocks() {
    if (is_long(look_)) {
      const ShownItems tokens = all_items(look_.axis(true, true));
      add_matrix(painter_, tokens, tokens, token_weights(look_, map_, tokens), "tokens");
    } else {
      add_part(part_.rows, part_.cols);
    }
  }

  void add_detail() {
    const ShownItems rows = some_items(*part_.rows.items, detail_rows());
    const char* which = look_.rule(map_).causal ? "The last rows" : "The sharpest rows";
    painter_.newline();
    painter_.paragraph({{Ink::accent, which},
                        {Ink::plain, fmt::format(", and the keys with most of their weight (--rows, --keys choose)")}});
    add_part(rows, keys_of(rows));
  }

  // Of a causal map the last rows, which see most and from which the text would go on; of others the sharpest ones.
  std::vector<std::int64_t> detail_rows() const {
    const std::int64_t count = part_.rows.of;
    if (look_.rule(map_).causal) return range_of(std::max<std::int64_t>(0, count - kDetailRows), count);
    const engine::MapObservations seen = look_.observations(map_);
    std::vector<double> sharpness;
    for (const engine::AxisItem& item : *part_.rows.items) {
      const auto at = static_cast<std::size_t>(item.token_begin);
      const double share = seen.on_text(at);
      sharpness.push_back(item.special ? 0 : share * std::exp(-double{seen.text_entropy[at]}));
    }
    return heaviest(sharpness, kDetailRows);
  }

  // The keys that got most weight from these rows, by what the pass kept of each: as many as leave room for digits.
  ShownItems keys_of(const ShownItems& rows) const {
    const engine::Axis& axis = *part_.cols.items;
    const std::int64_t room = digit_columns(painter_, rows);
    if (std::cmp_less_equal(axis.size(), room) || std::cmp_greater(rows.items->size(), kMostRanked)) return part_.cols;
    const engine::MapObservations seen = look_.observations(map_);
    const std::vector<std::int64_t> item_of = item_of_tokens(axis, look_.tokens().size());
    std::vector<double> mass(axis.size());
    for (const engine::AxisItem& row : *rows.items) {
      for (std::int64_t slot = row.token_begin * seen.top; slot < row.token_end * seen.top; ++slot) {
        const std::int32_t key = seen.top_index[static_cast<std::size_t>(slot)];
        const std::int64_t item = key < 0 ? -1 : item_of[static_cast<std::size_t>(key)];
        if (item >= 0) mass[static_cast<std::size_t>(item)] += seen.top_weight[static_cast<std::size_t>(slot)];
      }
    }
    const std::vector<std::int64_t> keys = heaviest(mass, room);
    return keys.empty() ? part_.cols : some_items(axis, keys);
  }

  Painter& painter_;
  const engine::Look& look_;
  engine::MapId map_;
  const Options& options_;
  MapPart part_;
};

}  // namespace

MapPart chosen_part(const engine::Look& look, const Options& options) {
  MapPart part;
  const ShownItems all = all_items(chosen_axis(look, options));
  const auto part_of = [&](const char* option, const std::string& spec) {
    return spec.empty() ? all : some_items(*all.items, parse_range(option, spec, all.of));
  };
  part.rows = part_of("--rows", options.rows);
  part.cols = part_of("--keys", options.keys);
  part.rows_chosen = !options.rows.empty();
  part.cols_chosen = !options.keys.empty();
  return part;
}

void add_map(Painter& painter, const engine::Look& look, const engine::MapId& map, const Options& options) {
  MapView(painter, look, map, options).add();
}

}  // namespace sightline::cli
