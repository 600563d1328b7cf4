#include "src/engine/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "sightline/error.h"
#include "src/analysis/divergence.h"
#include "src/analysis/order.h"
#include "src/cpu/parallel.h"
#include "src/engine/memory.h"

namespace sightline::engine {
namespace {

constexpr char kNoMemory[] = "no memory to compare the texts: give shorter ones, or one layer (--layer)";
constexpr std::size_t kStrip = 32;  // items whose rows are read at once

using analysis::AlignedPair;
using analysis::larger;
using Items = std::span<const std::size_t>;

// The rows of some items in one map, as one text has them: [items, axis], and the sink's weight of each.
struct Strip {
  Grid grid;
  std::vector<double> sink;
};

double sink_weight(const MapObservations& map, const AxisItem& row) {
  if (map.sink_weight.empty()) return 0;
  double sum = 0;
  for (std::int64_t i = row.token_begin; i < row.token_end; ++i) sum += map.sink_weight[static_cast<std::size_t>(i)];
  return sum / static_cast<double>(row.token_end - row.token_begin);
}

Strip read_strip(const Look& look, const MapId& map, const Axis& axis, const Axis& rows) {
  Strip strip{look.grid(map, rows, axis), {}};
  const MapObservations seen = look.observations(map);
  for (const AxisItem& row : rows) strip.sink.push_back(sink_weight(seen, row));
  return strip;
}

Axis rows_of(const TextPair& pair, Items items, const Axis& axis, std::int64_t AlignedPair::*side) {
  Axis rows;
  for (const std::size_t item : items) rows.push_back(axis[static_cast<std::size_t>(pair.items()[item].*side)]);
  return rows;
}

// Calls take(RowPair) for each of the items, ascending.
template <class Take>
void read_each(const TextPair& pair, Items items, const MapId& map, const Take& take) {
  const Strip a = read_strip(pair.a(), map, pair.axis_a(), rows_of(pair, items, pair.axis_a(), &AlignedPair::a));
  const Strip b = read_strip(pair.b(), map, pair.axis_b(), rows_of(pair, items, pair.axis_b(), &AlignedPair::b));
  RowPair rows{0, map, {}, {}};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    rows.item = items[i];
    rows.a.assign(pair.items().size() + 1, 0);
    rows.b.assign(pair.items().size() + 1, 0);
    for (std::size_t key = 0; key < pair.items().size(); ++key) {
      const AlignedPair& of = pair.items()[key];
      if (of.a >= 0) rows.a[key] = a.grid.at(row, of.a);
      if (of.b >= 0) rows.b[key] = b.grid.at(row, of.b);
    }
    rows.a.back() = a.sink[i];
    rows.b.back() = b.sink[i];
    take(rows);
  }
}

Change change_of(const RowPair& rows, std::size_t item) { return {item, rows.a[item], rows.b[item]}; }

// The aligned words that lose and gain most, of equals the first.
std::vector<Change> largest_changes(const TextPair& pair, const RowPair& rows) {
  Change loses, gains;
  for (std::size_t item = 0; item < pair.items().size(); ++item) {
    if (!pair.items()[item].paired() || pair.is_special(item)) continue;
    const Change change = change_of(rows, item);
    if (change.change() < loses.change()) loses = change;
    if (change.change() > gains.change()) gains = change;
  }
  std::vector<Change> changes;
  if (loses.change() < 0) changes.push_back(loses);
  if (gains.change() > 0) changes.push_back(gains);
  return changes;
}

double shift_of(std::span<const Change> changes) {
  if (changes.empty()) return 0;
  if (changes.size() == 1) return std::abs(changes.front().change());
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const Change& change : changes) {
    if (std::isnan(change.change())) return change.change();
    least = std::min(least, change.change());
    most = std::max(most, change.change());
  }
  return most - least;
}

// The word with more weight than every other, if there is one.
std::optional<std::size_t> leader(std::span<const Change> changes, double Change::*side) {
  const Change* best = nullptr;
  bool alone = false;
  for (const Change& change : changes) {
    if (std::isnan(change.*side)) return std::nullopt;
    if (best != nullptr && change.*side <= best->*side) {
      alone = alone && change.*side < best->*side;
      continue;
    }
    best = &change;
    alone = true;
  }
  return best != nullptr && alone ? std::optional(best->item) : std::nullopt;
}

RowContrast contrast_of(const TextPair& pair, const RowPair& rows, Items named) {
  RowContrast contrast{rows.item, rows.map, analysis::jensen_shannon(rows.a, rows.b), {}, 0, {}};
  for (const std::size_t item : named) contrast.changes.push_back(change_of(rows, item));
  if (named.empty()) contrast.changes = largest_changes(pair, rows);
  contrast.shift = shift_of(contrast.changes);
  if (contrast.changes.size() < 2) return contrast;
  const auto a = leader(contrast.changes, &Change::a), b = leader(contrast.changes, &Change::b);
  if (a && b && *a != *b) contrast.flip = Flip{*a, *b};
  return contrast;
}

double measure(const RowContrast& contrast, RankBy by) {
  return by == RankBy::divergence ? contrast.divergence : contrast.shift;
}

std::vector<MapId> compared_maps(const TextPair& pair, const CompareOptions& options) {
  pair.a().require({options.layer.value_or(1), options.head.value_or(1)});
  std::vector<MapId> maps = pair.a().kept_maps();
  std::erase_if(maps, [&](const MapId& map) {
    return options.layer.value_or(map.layer) != map.layer || options.head.value_or(map.head) != map.head;
  });
  return maps;
}

// Runs tasks on threads, in ascending order, until the caller says to stop.
class Tasks {
 public:
  explicit Tasks(const CompareOptions& options) : threads_(options.threads), progress_(options.progress) {}

  /// How many of the first tasks are done, all of them.
  std::int64_t run(std::int64_t count, const std::function<void(std::int64_t)>& task) {
    std::vector<char> done(static_cast<std::size_t>(count));
    cpu::parallel_for(count, threads_, [&](std::int64_t i) {
      if (stopped_) return;
      task(i);
      const std::lock_guard<std::mutex> one(mutex_);
      done[static_cast<std::size_t>(i)] = 1;
      if (progress_ != nullptr && !stopped_ && !progress_->advance(++finished_, count)) stopped_ = true;
    });
    return std::ranges::find(done, 0) - done.begin();
  }

 private:
  int threads_;
  Progress* progress_;
  std::mutex mutex_;
  std::int64_t finished_ = 0;
  std::atomic<bool> stopped_ = false;
};

void rank(std::vector<RowContrast>& rows, RankBy by) {
  std::ranges::stable_sort(rows, [by](const auto& x, const auto& y) { return larger(measure(x, by), measure(y, by)); });
}

// The rows of one item in all maps.
std::vector<RowContrast> rows_of_item(const TextPair& pair, const std::vector<MapId>& maps, const Comparison& chosen,
                                      const CompareOptions& options, bool& complete) {
  std::vector<RowContrast> rows(maps.size());
  const std::size_t item = *chosen.item;
  const std::int64_t done = Tasks(options).run(std::ssize(maps), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    rows[at] = contrast_of(pair, read_rows(pair, item, maps[at]), chosen.named);
  });
  complete = done == std::ssize(maps);
  rows.resize(static_cast<std::size_t>(done));
  rank(rows, chosen.by);
  return rows;
}

// The rows of all items that both texts have, in all maps: of each row how far it moved is kept, and nothing else.
class AllRows {
 public:
  AllRows(const TextPair& pair, const std::vector<MapId>& maps, Comparison& result)
      : pair_(pair), maps_(maps), result_(result) {
    for (std::size_t item = 0; item < pair.items().size(); ++item) {
      if (!pair.items()[item].paired()) continue;
      if (pair.blind_rows_are_equal() && pair.is_blind(item)) {
        ++result.blind;
      } else {
        items_.push_back(item);
      }
    }
    moved_.resize(items_.size() * maps.size());
    divergence_.resize(moved_.size());
  }

  /// The `top` rows; result.words and result.complete are set.
  std::vector<RowContrast> ranked(const CompareOptions& options) {
    const auto strips = (items_.size() + kStrip - 1) / kStrip;
    // A strip in all maps, then the next: where it is stopped, the first words are done in every head.
    const std::int64_t done = Tasks(options).run(static_cast<std::int64_t>(strips * maps_.size()), [&](std::int64_t i) {
      measure_strip(static_cast<std::size_t>(i) / maps_.size(), static_cast<std::size_t>(i) % maps_.size());
    });
    const std::size_t whole = static_cast<std::size_t>(done) / maps_.size();
    if (whole < strips) {
      result_.complete = false;
      items_.resize(std::min(items_.size(), whole * kStrip));
    }
    rank_words();
    return best_rows(options.top);
  }

 private:
  void measure_strip(std::size_t strip, std::size_t map) {
    const std::size_t begin = strip * kStrip;
    std::size_t at = begin;
    read_each(pair_, Items(items_).subspan(begin, std::min(kStrip, items_.size() - begin)), maps_[map],
              [&](const RowPair& rows) {
                const RowContrast contrast = contrast_of(pair_, rows, result_.named);
                const std::size_t cell = at++ * maps_.size() + map;
                divergence_[cell] = contrast.divergence;
                moved_[cell] = measure(contrast, result_.by);
              });
  }

  void rank_words() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const auto row = std::span(divergence_).subspan(i * maps_.size(), maps_.size());
      const auto best = std::ranges::min_element(row, larger) - row.begin();
      double sum = 0;
      for (const double divergence : row) sum += divergence;
      result_.words.push_back({items_[i], maps_[static_cast<std::size_t>(best)], row[static_cast<std::size_t>(best)],
                               sum / static_cast<double>(row.size())});
    }
    std::ranges::stable_sort(result_.words, larger, &ItemContrast::largest);
  }

  std::vector<RowContrast> best_rows(std::size_t top) const {
    std::vector<std::size_t> order(items_.size() * maps_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::size_t kept = std::min(top, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(kept),
                              [this](std::size_t x, std::size_t y) {
                                return larger(moved_[x], moved_[y]) || (!larger(moved_[y], moved_[x]) && x < y);
                              });
    std::vector<RowContrast> rows;
    for (const std::size_t cell : std::span(order).first(kept)) {
      const RowPair read = read_rows(pair_, items_[cell / maps_.size()], maps_[cell % maps_.size()]);
      rows.push_back(contrast_of(pair_, read, result_.named));
    }
    return rows;
  }

  const TextPair& pair_;
  const std::vector<MapId>& maps_;
  Comparison& result_;
  std::vector<std::size_t> items_;
  std::vector<double> moved_, divergence_;  // [items, maps]
};

bool all_equal(const std::vector<RowContrast>& rows) {
  return std::ranges::all_of(rows, [](const RowContrast& row) { return row.divergence == 0; });
}

Comparison compared(const TextPair& pair, const CompareOptions& options) {
  Comparison result;
  if (!options.token.empty()) result.item = pair.find_row(options.token);
  for (const std::string& spec : options.named) result.named.push_back(pair.find(spec));
  const RankBy usual = result.item && !result.named.empty() ? RankBy::shift : RankBy::divergence;
  result.by = options.by.value_or(usual);
  const std::vector<MapId> maps = compared_maps(pair, options);
  if (result.item) {
    result.rows = rows_of_item(pair, maps, result, options, result.complete);
    result.unmoved = result.complete && pair.is_blind(*result.item) && all_equal(result.rows);
    if (!result.unmoved) return result;
  }
  if (!pair.first_difference()) return result;
  std::vector<RowContrast> best = AllRows(pair, maps, result).ranked(options);
  (result.item ? result.offered : result.rows) = std::move(best);
  return result;
}

}  // namespace

RowPair read_rows(const TextPair& pair, std::size_t item, const MapId& map) {
  RowPair read;
  read_each(pair, {&item, 1}, map, [&read](const RowPair& rows) { read = rows; });
  return read;
}

Comparison compare(const TextPair& pair, const CompareOptions& options) {
  return within_memory(kNoMemory, [&] { return compared(pair, options); });
}

}  // namespace sightline::engine
