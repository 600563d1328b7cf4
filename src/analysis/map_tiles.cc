#include "src/analysis/map_tiles.h"

#include <algorithm>

#include "sightline/error.h"

namespace sightline::analysis {
namespace {

constexpr std::int64_t kTileWeights = 1 << 16;  // stay in a core's cache
constexpr std::int64_t kMostRows = 64;          // and of a narrow map no more than a block of the kernel

}  // namespace

std::int64_t tile_rows(std::int64_t keys) {
  return std::clamp<std::int64_t>(kTileWeights / std::max<std::int64_t>(1, keys), 4, kMostRows);
}

TileRange tile_of(const AttentionProblem& problem, std::int64_t head, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t keys = problem.k.shape[2];
  const std::int64_t shift = problem.alignment == Alignment::bottom_right ? keys - problem.q.shape[2] : 0;
  const std::int64_t first = row_begin + shift, last = row_end - 1 + shift;  // positions
  std::int64_t begin = 0, end = keys;
  if (problem.window_left >= 0) begin = std::clamp<std::int64_t>(first - problem.window_left, 0, keys);
  if (problem.causal) end = std::clamp<std::int64_t>(last + 1, 0, keys);
  if (problem.window_right >= 0) end = std::clamp<std::int64_t>(last + problem.window_right + 1, 0, end);
  return {0, head, row_begin, row_end, std::min(begin, end), end};
}

EvenProblem::EvenProblem(const AttentionProblem& problem)
    : zero_(static_cast<std::size_t>(problem.q.shape[3])), problem_(problem) {
  const std::array<std::int64_t, 4> shape = {1, problem.k.shape[1], problem.q.shape[2], problem.q.shape[3]};
  problem_.q = {zero_.data(), DType::f32, shape, {0, 0, 0, 1}};
  problem_.sinks = {};
}

void TileProgress::advance() {
  const std::scoped_lock lock(mutex_);
  ++done_;
  if (!stopped_ && progress_ != nullptr) stopped_ = !progress_->advance(done_, tiles_);
  if (stopped_) throw Cancelled("stopped by the caller before all tiles were read");
}

}  // namespace sightline::analysis
