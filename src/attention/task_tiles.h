#ifndef SIGHTLINE_ATTENTION_TASK_TILES_H_
#define SIGHTLINE_ATTENTION_TASK_TILES_H_

#include <algorithm>
#include <cstdint>

#include "src/attention/head_tasks.h"

namespace sightline {

/// The tiles of a task. Of one head: 48 rows each, the first beginning at a multiple of 16 in the sequence. Of stacked
/// heads: as many whole heads as have 16 rows together.
class TaskTiles {
 public:
  explicit TaskTiles(const HeadProblem& head)
      : rows_(head.rows),
        heads_(head.heads),
        stacked_(stacks_rows(head.rows)),
        lead_(((head.query_position % kChains) + kChains) % kChains) {}

  std::int64_t count() const {
    if (rows_ == 0) return 0;
    if (stacked_) return (heads_ + heads_per_tile() - 1) / heads_per_tile();
    return (rows_ + lead_ + kTileRows - 1) / kTileRows;
  }

  TileRows at(std::int64_t index) const { return stacked_ ? stacked_at(index) : rows_at(index); }

 private:
  std::int64_t heads_per_tile() const { return kMaxStackedRows / rows_; }

  TileRows stacked_at(std::int64_t index) const {
    const std::int64_t first = index * heads_per_tile();
    const std::int64_t heads = std::min(heads_per_tile(), heads_ - first);
    return {first * rows_, kChains, 0, static_cast<int>(heads * rows_), rows_};
  }

  TileRows rows_at(std::int64_t index) const {
    TileRows tile;
    tile.first = index * kTileRows - lead_;
    const std::int64_t left = std::min<std::int64_t>(rows_ - tile.first, kTileRows);
    tile.lanes = static_cast<int>((left + kChains - 1) / kChains * kChains);
    tile.live_begin = static_cast<int>(std::max<std::int64_t>(0, -tile.first));
    tile.live_end = static_cast<int>(left);
    return tile;
  }

  std::int64_t rows_, heads_;
  bool stacked_;
  std::int64_t lead_;
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_TASK_TILES_H_
