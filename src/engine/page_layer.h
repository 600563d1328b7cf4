#ifndef SIGHTLINE_ENGINE_PAGE_LAYER_H_
#define SIGHTLINE_ENGINE_PAGE_LAYER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/engine/look.h"
#include "src/engine/report.h"

namespace sightline::engine {

/// How a page keeps the numbers of a layer.
struct PageLayerOptions {
  bool exact = false;   // fp32; otherwise fixed point where weights stay within kPageWithin of the exact ones
  bool values = false;  // V too
};

/// What weights of a page that is not exact may be off by, at most. It is measured, not believed: a layer that is
/// farther off with every width of fixed point is kept in fp32.
inline constexpr float kPageWithin = 3e-3F;

/// A layer as a page carries it.
struct PageLayer {
  ReportJson facts;    // heads, sizes, scale, what is hidden, and how the numbers lie: docs/page.md
  std::string base64;  // the numbers, deflated
  float within = 0;    // largest difference of a weight from the exact one, over the rows that were measured
};

/// Q, K and the row states of the given heads (from 1, ascending) of one layer, and V if asked for.
PageLayer page_layer(const Look& look, int layer, const std::vector<int>& heads, const PageLayerOptions& options);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_PAGE_LAYER_H_
