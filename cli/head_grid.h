#ifndef SIGHTLINE_CLI_HEAD_GRID_H_
#define SIGHTLINE_CLI_HEAD_GRID_H_

#include <cstdint>
#include <functional>

#include "cli/painter.h"

namespace sightline::cli {

/// The heads of a model as a grid on the terminal.
struct HeadGrid {
  std::int64_t layers = 0, heads = 0;
  int cell = 4;  // columns a head
  /// Adds so many columns. `map`: layer * heads + head, from 0.
  std::function<void(std::size_t map)> add_cell;
};

/// A row a layer, a column a head, with their numbers; heads that find no room beside the others follow below.
void add_head_grid(Painter& painter, const HeadGrid& grid);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_HEAD_GRID_H_
