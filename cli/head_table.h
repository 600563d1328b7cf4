#ifndef SIGHTLINE_CLI_HEAD_TABLE_H_
#define SIGHTLINE_CLI_HEAD_TABLE_H_

#include "cli/painter.h"
#include "src/engine/look.h"

namespace sightline::cli {

/// The numbers of every head: a small grid, layers x heads, for each of six measures, as many side by side as the width
/// takes. Cells hold two digits where there is room, else only their shade. `marked` is the head that the rest of the
/// view shows.
void add_head_table(Painter& painter, const engine::Look& look, const engine::MapId& marked);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_HEAD_TABLE_H_
