#ifndef SIGHTLINE_CLI_MAP_VIEW_H_
#define SIGHTLINE_CLI_MAP_VIEW_H_

#include "cli/options.h"
#include "cli/painter.h"
#include "cli/view.h"

namespace sightline::cli {

/// Rows and columns of the map that --rows and --keys choose, all of the axis where they are not given. Throws
/// UsageError for what is no range, BadArgument for what the axis has not.
struct MapPart {
  ShownItems rows, cols;
  bool rows_chosen = false, cols_chosen = false;
};
MapPart chosen_part(const engine::Look& look, const Options& options);

/// One map under its heading: all of it where the terminal has room for every item; else in blocks, and below them the
/// rows that matter beside the keys that they look at. With --rows or --keys that part alone.
void add_map(Painter& painter, const engine::Look& look, const engine::MapId& map, const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_MAP_VIEW_H_
