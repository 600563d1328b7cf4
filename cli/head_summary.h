#ifndef SIGHTLINE_CLI_HEAD_SUMMARY_H_
#define SIGHTLINE_CLI_HEAD_SUMMARY_H_

#include "cli/painter.h"
#include "src/engine/look.h"

namespace sightline::cli {

/// Whether a model has more heads than a reader takes in one by one.
bool has_many_heads(const engine::Look& look);

/// A row a layer: how even its heads look, and which of them is the sharpest, rests most on special tokens (or the
/// first), looks most at the previous and at the same token, and farthest. `marked` is the head that is shown below.
void add_layer_summary(Painter& painter, const engine::Look& look, const engine::MapId& marked);

/// A row a head of one layer, with all its numbers.
void add_heads_of_layer(Painter& painter, const engine::Look& look, const engine::MapId& marked);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_HEAD_SUMMARY_H_
