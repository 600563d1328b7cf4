#ifndef SIGHTLINE_ENGINE_COMPARE_H_
#define SIGHTLINE_ENGINE_COMPARE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/analysis/alignment.h"
#include "src/engine/look.h"

namespace sightline::engine {

/// Two texts through one model, their words (or tokens) aligned. An item is a place that both have, or one alone:
/// indexes of items are those of items(). Items are the keys that the rows of both texts share. Safe for concurrent
/// use.
class TextPair {
 public:
  /// The looks must be of one model, and keep the same layers. Throws BadArgument where no word of text is in both.
  TextPair(Look a, Look b, bool pieces);

  const Look& a() const { return a_; }
  const Look& b() const { return b_; }
  const Axis& axis_a() const { return axis_a_; }
  const Axis& axis_b() const { return axis_b_; }
  bool pieces() const { return pieces_; }
  const std::vector<analysis::AlignedPair>& items() const { return items_; }

  bool is_special(std::size_t item) const;
  /// "it"; of a pair that is not the same "tired/wide".
  std::string label(std::size_t item) const;
  /// The same with its number where the text has several that are called so: "the:2". Of a text that has the item.
  std::string name(std::size_t item) const;

  /// The first token whose id is not the same in both, or where one ends; nothing where the model reads the same.
  std::optional<std::int64_t> first_difference() const { return first_difference_; }
  /// Whether the item's rows stand before that in both, and see nothing that comes after them.
  bool is_blind(std::size_t item) const;
  /// Whether no row that is_blind() can differ: no rope follows the text's length.
  bool blind_rows_are_equal() const;

  /// The item that `spec` names in either text, as find_item() does; "A:it" and "B:it" name it in the first or the
  /// second alone. Throws BadArgument where it names none, several, or one in each that are not aligned.
  std::size_t find(std::string_view spec) const;
  /// The same, and refuses an item that one text alone has.
  std::size_t find_row(std::string_view spec) const;

 private:
  std::optional<std::size_t> item_of(const Axis& axis, std::string_view spec, bool first) const;
  void require_common_word() const;

  Look a_, b_;
  Axis axis_a_, axis_b_;
  bool pieces_;
  std::vector<analysis::AlignedPair> items_;
  std::vector<std::size_t> item_of_a_, item_of_b_;  // by index of the axes
  std::optional<std::int64_t> first_difference_;
};

/// The row of one item in one map, in both texts.
struct RowPair {
  std::size_t item = 0;
  MapId map;
  std::vector<double> a, b;  // [items + 1] weights; 0 on what the text has not; the last is the head's sink's
};
RowPair read_rows(const TextPair& pair, std::size_t item, const MapId& map);

/// The weight of a row on one item.
struct Change {
  std::size_t item = 0;
  double a = 0, b = 0;

  double change() const { return b - a; }
};

/// Which of the words that are told of has most weight in each text.
struct Flip {
  std::size_t a = 0, b = 0;  // items, which differ
};

/// How far one row moved.
struct RowContrast {
  std::size_t item = 0;
  MapId map;
  double divergence = 0;        // Jensen-Shannon, in nats, over all items and the sink
  std::vector<Change> changes;  // of the words that were named; else of the one that loses most, and that gains most
  double shift = 0;             // largest less smallest change of these; of one word its change
  std::optional<Flip> flip;
};

/// How far the rows of one item moved, over the heads that were compared.
struct ItemContrast {
  std::size_t item = 0;
  MapId map;                     // the head whose row moved farthest
  double largest = 0, mean = 0;  // divergence
};

enum class RankBy : std::uint8_t { divergence, shift };

struct CompareOptions {
  std::string token = {};                    // whose row, as TextPair::find_row() takes it; empty: all
  std::vector<std::string> named = {};       // words whose weights are told, as TextPair::find() takes them
  std::optional<RankBy> by = {};             // none: shift where words are named for one row, else divergence
  std::optional<int> layer = {}, head = {};  // of these alone
  std::size_t top = 10;                      // of the rows of all words, how many are told of
  int threads = 0;
  Progress* progress = nullptr;  // false ends it: what is done is ranked
};

struct Comparison {
  std::optional<std::size_t> item;  // whose row was asked for
  std::vector<std::size_t> named;
  RankBy by = RankBy::divergence;
  std::vector<RowContrast> rows;     // of the item every head, or of all items the `top` rows; farthest first
  bool unmoved = false;              // the item is blind, and its row the same in every head
  std::vector<RowContrast> offered;  // then the `top` rows of all items that are not, if there are any
  std::vector<ItemContrast> words;   // of all items that were compared, farthest first; empty where `rows` has all
  std::size_t blind = 0;             // items left out of these, as their rows see no difference
  bool complete = true;              // false: it was stopped; words and rows are those of the items that were done

  /// What was asked for, or what is offered in its place.
  const std::vector<RowContrast>& shown() const { return unmoved ? offered : rows; }
};

/// Ranks the heads for one row, or the rows of all aligned items in all heads. Weights go through Look::grid(), a few
/// rows at a time. Throws BadArgument.
Comparison compare(const TextPair& pair, const CompareOptions& options);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_COMPARE_H_
