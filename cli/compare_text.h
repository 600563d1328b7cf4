#ifndef SIGHTLINE_CLI_COMPARE_TEXT_H_
#define SIGHTLINE_CLI_COMPARE_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "src/engine/compare.h"

namespace sightline::cli {

// Sentences that begin the view of a comparison, and its picture. Labels are as the texts have them.
std::string title_of(const engine::TextPair& pair, const engine::Comparison& comparison);
/// Through which model, and in which order; goes on with the title.
std::string order_of(const engine::TextPair& pair, const engine::Comparison& comparison);
/// Which words are replaced, and which stand in one text alone; or that the texts are the same.
std::string differences_of(const engine::TextPair& pair);
/// On a row that sees nothing of the difference; empty where there is nothing to tell.
std::string blindness_of(const engine::TextPair& pair, const engine::Comparison& comparison);

/// A divergence as a part of the largest that there is.
double share_of_most(double divergence);

/// The items with a weight in either row, or the `most` that weigh most in one of the two, in the order of the texts.
std::vector<std::size_t> listed_items(const engine::RowPair& rows, std::size_t most);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_COMPARE_TEXT_H_
