#include "cli/compare_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/analysis/divergence.h"
#include "src/engine/axis.h"

namespace sightline::cli {
namespace {

constexpr std::size_t kMostNamed = 6;  // words that a sentence lists

std::string named(const engine::TextPair& pair, std::size_t item) { return engine::in_quotes(pair.label(item)); }

// "what: "x", "y" and 3 more"; nothing where there are none.
std::string listing(const engine::TextPair& pair, const char* what, const std::vector<std::size_t>& items) {
  if (items.empty()) return "";
  std::string list = what;
  for (std::size_t i = 0; i < std::min(items.size(), kMostNamed); ++i) list += (i ? ", " : " ") + named(pair, items[i]);
  return items.size() <= kMostNamed ? list : list + fmt::format(" and {} more", items.size() - kMostNamed);
}

const char* unit(const engine::TextPair& pair) { return pair.pieces() ? "token" : "word"; }

}  // namespace

std::string title_of(const engine::TextPair& pair, const engine::Comparison& comparison) {
  return comparison.item ? fmt::format("Where {} looks in two texts", named(pair, *comparison.item))
                         : "Where two texts' words look";
}

std::string order_of(const engine::TextPair& pair, const engine::Comparison& comparison) {
  const bool by_shift = comparison.by == engine::RankBy::shift;
  return fmt::format(
      "through {}: the {}, by {}", pair.a().model().name,
      comparison.item && !comparison.unmoved ? "heads in which its row moved farthest" : "rows that moved farthest",
      by_shift ? "shift" : "divergence");
}

std::string differences_of(const engine::TextPair& pair) {
  if (!pair.first_difference()) {
    return "To the model the two texts are identical: every row is the same in both, and nothing moves";
  }
  std::vector<std::size_t> replaced, a, b;
  for (std::size_t i = 0; i < pair.items().size(); ++i) {
    const analysis::AlignedPair& item = pair.items()[i];
    if (!item.same) (item.paired() ? replaced : item.a >= 0 ? a : b).push_back(i);
  }
  std::string sentence;
  for (const std::string& part :
       {listing(pair, "replaced:", replaced), listing(pair, "in A alone:", a), listing(pair, "in B alone:", b)}) {
    if (!part.empty()) sentence += (sentence.empty() ? "" : "; ") + part;
  }
  return sentence.empty() ? fmt::format("The {}s are the same, their tokens are not", unit(pair)) : sentence;
}

std::string blindness_of(const engine::TextPair& pair, const engine::Comparison& comparison) {
  if (!comparison.item) {
    if (comparison.blind == 0) return "";
    if (comparison.rows.empty() && comparison.complete) {
      return fmt::format(
          "The model is causal, and no {} that both texts have comes after the first difference: all their rows are "
          "identical",
          unit(pair));
    }
    return fmt::format(
        "The model is causal: rows of the {} {}s before the first difference cannot see it and are identical in both "
        "texts, so they are left out",
        comparison.blind, unit(pair));
  }
  const std::size_t item = *comparison.item;
  if (pair.is_blind(item)) {
    if (!comparison.unmoved) {
      return fmt::format(
          "{} stands before the first difference and cannot see it, yet its row moved: the model's rope follows the "
          "length of the text",
          named(pair, item));
    }
    return fmt::format(
        "{} stands before the first difference, and in a causal model no {} can see what follows it: its row is "
        "identical in both texts, in every head (difference exactly 0). {}",
        named(pair, item), unit(pair),
        comparison.offered.empty() && comparison.complete
            ? "No row that both texts have can see the difference"
            : "The rows that can see the difference, by how far they moved:");
  }
  const analysis::AlignedPair& place = pair.items()[item];
  if (place.same) return "";
  return fmt::format("{} and {} replace one another: the row of the one is compared with that of the other",
                     engine::in_quotes(pair.axis_a()[static_cast<std::size_t>(place.a)].label),
                     engine::in_quotes(pair.axis_b()[static_cast<std::size_t>(place.b)].label));
}

double share_of_most(double divergence) { return divergence / analysis::kMostDivergence; }

std::vector<std::size_t> listed_items(const engine::RowPair& rows, std::size_t most) {
  const auto weight = [&rows](std::size_t item) { return std::max(rows.a[item], rows.b[item]); };
  std::vector<std::size_t> items;
  for (std::size_t item = 0; item + 1 < rows.a.size(); ++item) {
    if (!(rows.a[item] == 0 && rows.b[item] == 0)) items.push_back(item);
  }
  if (items.size() <= most) return items;
  std::ranges::stable_sort(items, [&](std::size_t x, std::size_t y) { return weight(x) > weight(y); });
  items.resize(most);
  std::ranges::sort(items);
  return items;
}

}  // namespace sightline::cli
