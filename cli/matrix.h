#ifndef SIGHTLINE_CLI_MATRIX_H_
#define SIGHTLINE_CLI_MATRIX_H_

#include "cli/painter.h"
#include "cli/weights.h"
#include "src/engine/axis.h"

namespace sightline::cli {

/// A map as a grid of cells that fits the terminal's width: with digits where a cell has room for them, else with
/// shades, and where even that does not fit as means of blocks. Says which of these it is, and what the shades mean.
void add_matrix(Painter& painter, const engine::Axis& axis, const Weights& weights, std::string_view unit);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_MATRIX_H_
