// Score and mask functions as a caller would write them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/attention/features.h"

namespace sightline::testing {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

template <class Function>
std::unique_ptr<ScoreFunction> own(Function function) {
  return std::make_unique<InlineScoreFunction<Function>>(std::move(function));
}

template <class Predicate, class Summary>
std::unique_ptr<MaskFunction> own(Predicate sees, Summary summary) {
  return std::make_unique<InlineMaskFunction<Predicate, Summary>>(std::move(sees), std::move(summary));
}

Sees from(bool any, bool all) { return all ? Sees::all : any ? Sees::part : Sees::nothing; }

// Keys of the row's own group of 24.
std::unique_ptr<MaskFunction> groups() {
  constexpr std::int64_t kGroup = 24;
  return own([](const ScorePair& pair) { return pair.row / kGroup == pair.key / kGroup; },
             [](const ScoreTile& tile) {
               const std::int64_t row = tile.first_row / kGroup, last_row = (tile.first_row + tile.rows - 1) / kGroup;
               const std::int64_t key = tile.first_key / kGroup, last_key = (tile.first_key + tile.keys - 1) / kGroup;
               return from(row <= last_key && key <= last_row, row == last_row && key == last_key && row == key);
             });
}

// A prefix that all rows see, and positions up to the row's own.
std::unique_ptr<MaskFunction> prefix() {
  constexpr std::int64_t kPrefix = 10;
  return own([](const ScorePair& pair) { return pair.key < kPrefix || pair.key_position <= pair.row_position; },
             [](const ScoreTile& tile) {
               const bool any = tile.first_key < kPrefix || tile.key_position <= tile.row_position + tile.rows - 1;
               const bool all =
                   tile.first_key + tile.keys <= kPrefix || tile.key_position + tile.keys - 1 <= tile.row_position;
               return from(any, all);
             });
}

std::unique_ptr<MaskFunction> by_head() {
  return own([](const ScorePair& pair) { return (pair.key + pair.row + pair.head + pair.batch) % 3 != 0; },
             [](const ScoreTile&) { return Sees::part; });
}

}  // namespace

// Positions of a tree's keys do not ascend one by one: there only indexes are looked at.
std::unique_ptr<ScoreFunction> any_score_function(const ProblemRecipe& recipe) {
  std::mt19937_64 random = recipe.numbers(Feature::score_function);
  switch (between(random, 0, recipe.has(Feature::tree) ? 1 : 2)) {
    case 0:
      return own([](float score, const ScorePair& pair) {
        return score * 0.5f + 0.125f * static_cast<float>((3 * pair.row + pair.key + pair.head) % 7);
      });
    case 1:
      return own([](float score, const ScorePair& pair) { return (pair.row + pair.key) % 5 == 0 ? kHidden : score; });
    default:
      return own([](float score, const ScorePair& pair) {
        const auto distance = static_cast<float>(std::abs(pair.row_position - pair.key_position));
        return score - 0.0625f * std::min(distance, 64.0f) + static_cast<float>(pair.batch % 2);
      });
  }
}

std::unique_ptr<MaskFunction> any_mask_function(const ProblemRecipe& recipe) {
  std::mt19937_64 random = recipe.numbers(Feature::mask_function);
  switch (between(random, 0, recipe.has(Feature::tree) ? 1 : 2)) {
    case 0:
      return groups();
    case 1:
      return by_head();
    default:
      return prefix();
  }
}

}  // namespace sightline::testing
