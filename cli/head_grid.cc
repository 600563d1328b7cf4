#include "cli/head_grid.h"

#include <fmt/core.h>

#include <algorithm>

namespace sightline::cli {
namespace {

constexpr int kLabel = 4;  // columns of " 12 "

void add_band(Painter& painter, const HeadGrid& grid, std::int64_t first, std::int64_t end) {
  painter.spaces(kLabel);
  for (std::int64_t head = first; head < end; ++head) painter.soft(fmt::format("{:>{}}", head + 1, grid.cell));
  painter.newline();
  for (std::int64_t layer = 0; layer < grid.layers; ++layer) {
    painter.soft(fmt::format("{:>{}} ", layer + 1, kLabel - 1));
    for (std::int64_t head = first; head < end; ++head) {
      grid.add_cell(static_cast<std::size_t>(layer * grid.heads + head));
    }
    painter.newline();
  }
}

}  // namespace

void add_head_grid(Painter& painter, const HeadGrid& grid) {
  const std::int64_t across = std::max(1, (painter.terminal().width - kLabel) / grid.cell);
  for (std::int64_t first = 0; first < grid.heads; first += across) {
    add_band(painter, grid, first, std::min(first + across, grid.heads));
  }
}

}  // namespace sightline::cli
