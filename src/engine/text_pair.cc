#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sightline/error.h"
#include "src/engine/compare.h"
#include "src/engine/words.h"

namespace sightline::engine {
namespace {

// Items with equal labels get equal symbols; special ones negative ones, which are paired with their equals alone.
class SymbolTable {
 public:
  std::vector<std::int64_t> of(const Axis& axis) {
    std::vector<std::int64_t> symbols;
    for (const AxisItem& item : axis) {
      const auto next = static_cast<std::int64_t>(known_.size());
      const std::int64_t symbol = known_.emplace(std::pair(item.special, item.label), next).first->second;
      symbols.push_back(item.special ? -1 - symbol : symbol);
    }
    return symbols;
  }

 private:
  std::map<std::pair<bool, std::string>, std::int64_t> known_;
};

std::optional<std::int64_t> first_unequal(const std::vector<LookToken>& a, const std::vector<LookToken>& b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b, {}, &LookToken::id, &LookToken::id);
  if (in_a == a.end() && in_b == b.end()) return std::nullopt;
  return in_a - a.begin();
}

const AxisItem& at(const Axis& axis, std::int64_t index) { return axis[static_cast<std::size_t>(index)]; }

}  // namespace

TextPair::TextPair(Look a, Look b, bool pieces)
    : a_(std::move(a)),
      b_(std::move(b)),
      axis_a_(a_.axis(pieces, true)),
      axis_b_(b_.axis(pieces, true)),
      pieces_(pieces),
      item_of_a_(axis_a_.size()),
      item_of_b_(axis_b_.size()),
      first_difference_(first_unequal(a_.tokens(), b_.tokens())) {
  SymbolTable symbols;
  const std::vector<std::int64_t> of_a = symbols.of(axis_a_);
  items_ = analysis::align(of_a, symbols.of(axis_b_));
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].a >= 0) item_of_a_[static_cast<std::size_t>(items_[i].a)] = i;
    if (items_[i].b >= 0) item_of_b_[static_cast<std::size_t>(items_[i].b)] = i;
  }
  require_common_word();
}

void TextPair::require_common_word() const {
  if (!first_difference_) return;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].same && !is_special(i)) return;
  }
  throw BadArgument(fmt::format(
      "the two texts have no {} in common, so there is nothing to align: give two texts that differ in a few words",
      pieces_ ? "token" : "word"));
}

bool TextPair::is_special(std::size_t item) const {
  const analysis::AlignedPair& pair = items_[item];
  return pair.a >= 0 ? at(axis_a_, pair.a).special : at(axis_b_, pair.b).special;
}

std::string TextPair::label(std::size_t item) const {
  const analysis::AlignedPair& pair = items_[item];
  if (pair.a < 0) return at(axis_b_, pair.b).label;
  const std::string& label = at(axis_a_, pair.a).label;
  return pair.b < 0 || pair.same ? label : label + "/" + at(axis_b_, pair.b).label;
}

std::string TextPair::name(std::size_t item) const {
  const analysis::AlignedPair& pair = items_[item];
  if (pair.paired() && !pair.same) return label(item);
  const Axis& axis = pair.a >= 0 ? axis_a_ : axis_b_;
  const auto index = static_cast<std::size_t>(pair.a >= 0 ? pair.a : pair.b);
  return axis[index].label + occurrence_suffix(axis, index);
}

bool TextPair::is_blind(std::size_t item) const {
  const analysis::AlignedPair& pair = items_[item];
  if (!first_difference_ || !a_.model().config.causal || !pair.paired()) return false;
  return at(axis_a_, pair.a).token_end <= *first_difference_ && at(axis_b_, pair.b).token_end <= *first_difference_;
}

bool TextPair::blind_rows_are_equal() const {
  return a_.tokens().size() == b_.tokens().size() ||
         std::ranges::none_of(a_.model().config.ropes, &model::Rope::follows_length);
}

// Nothing: the text has none that is called so. Throws where it has several.
std::optional<std::size_t> TextPair::item_of(const Axis& axis, std::string_view spec, bool first) const {
  try {
    if (!has_item(axis, spec)) return std::nullopt;
  } catch (const BadArgument&) {  // a number beyond what this text has, which the other may have
    return std::nullopt;
  }
  try {
    return (first ? item_of_a_ : item_of_b_)[find_item(axis, spec)];
  } catch (const BadArgument& error) {
    throw BadArgument(fmt::format("in the {} text: {}", first ? "first" : "second", error.what()));
  }
}

std::size_t TextPair::find(std::string_view spec) const {
  const std::optional<std::size_t> in_a = item_of(axis_a_, spec, true), in_b = item_of(axis_b_, spec, false);
  if (in_a && in_b && *in_a != *in_b) {
    throw BadArgument(
        fmt::format("{0} is \"{1}\" (#{2}) in the first text and \"{3}\" (#{4}) in the second, which are not aligned: "
                    "say \"A:{5}\" or \"B:{5}\"",
                    in_quotes(spec), shortened(at(axis_a_, items_[*in_a].a).label), items_[*in_a].a + 1,
                    shortened(at(axis_b_, items_[*in_b].b).label), items_[*in_b].b + 1, shortened(spec)));
  }
  if (in_a || in_b) return in_a ? *in_a : *in_b;
  if (spec.starts_with("A:")) {
    if (const auto item = item_of(axis_a_, spec.substr(2), true)) return *item;
  } else if (spec.starts_with("B:")) {
    if (const auto item = item_of(axis_b_, spec.substr(2), false)) return *item;
  }
  throw BadArgument(fmt::format("there is no {} in either text: name a {} as it stands there, or by its number, as #3",
                                in_quotes(spec), pieces_ ? "token" : "word"));
}

std::size_t TextPair::find_row(std::string_view spec) const {
  const std::size_t item = find(spec);
  if (items_[item].paired()) return item;
  throw BadArgument(
      fmt::format("{} stands in the {} text alone: nothing in the other is aligned with it, so there is no second row",
                  in_quotes(spec), items_[item].a >= 0 ? "first" : "second"));
}

}  // namespace sightline::engine
