#ifndef SIGHTLINE_CLI_TOKEN_VIEW_H_
#define SIGHTLINE_CLI_TOKEN_VIEW_H_

#include "cli/options.h"
#include "cli/painter.h"
#include "src/engine/look.h"

namespace sightline::cli {

/// One item's row through the heads that --layer and --head leave: its top keys with weights, a head an entry, heads
/// side by side as the width takes. Before them the heads that look most at one other text item.
void add_token_view(Painter& painter, const engine::Look& look, const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_TOKEN_VIEW_H_
