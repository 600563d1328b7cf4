#ifndef SIGHTLINE_CLI_MATRIX_H_
#define SIGHTLINE_CLI_MATRIX_H_

#include "cli/painter.h"
#include "cli/view.h"
#include "cli/weights.h"

namespace sightline::cli {

/// A map as a grid of cells that fits the terminal's width: with digits where a cell has room for them, else with
/// shades, and where even that does not fit as means of blocks. Says which of these it is, and what the shades mean.
/// What a row does not see is left blank.
void add_matrix(Painter& painter, const ShownItems& rows, const ShownItems& cols, const Weights& weights,
                std::string_view unit);

/// How many columns have room for digits, with row labels of such items.
std::int64_t digit_columns(const Painter& painter, const ShownItems& rows);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_MATRIX_H_
