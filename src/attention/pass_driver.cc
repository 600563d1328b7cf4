#include "src/attention/pass_driver.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "src/attention/kernel.h"
#include "src/cpu/parallel.h"
#include "src/observe/chain_fold.h"

namespace sightline {
namespace {

// Workspaces are as many as there are workers, and reused: the strip of a long row is megabytes of pages.
class WorkspacePool {
 public:
  explicit WorkspacePool(const HeadTask& model) : model_(model) {}

  std::unique_ptr<TileWorkspace> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto workspace = std::move(idle_.back());
        idle_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<TileWorkspace>(model_.problem, model_.sight);
  }
  void give_back(std::unique_ptr<TileWorkspace> workspace) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

 private:
  const HeadTask& model_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TileWorkspace>> idle_;
};

// The tiles of a head: 48 rows each, the first beginning at a multiple of 16 in the sequence, so that a row's lane mod
// 16 is its position mod 16.
class HeadTiles {
 public:
  explicit HeadTiles(const HeadProblem& head)
      : rows_(head.rows), lead_(((head.query_position % kChains) + kChains) % kChains) {}

  std::int64_t count() const { return rows_ == 0 ? 0 : (rows_ + lead_ + kTileRows - 1) / kTileRows; }

  TileRows at(std::int64_t index) const {
    TileRows tile;
    tile.first = index * kTileRows - lead_;
    const std::int64_t left = std::min<std::int64_t>(rows_ - tile.first, kTileRows);
    tile.lanes = static_cast<int>((left + kChains - 1) / kChains * kChains);
    tile.live_begin = static_cast<int>(std::max<std::int64_t>(0, -tile.first));
    tile.live_end = static_cast<int>(left);
    return tile;
  }

 private:
  std::int64_t rows_, lead_;
};

// Lets the tiles of one head commit one after the other, in ascending order.
class Turn {
 public:
  // False: a tile of the head failed.
  bool wait_for(std::int64_t tile) {
    for (;;) {
      const std::int64_t next = next_.load(std::memory_order_acquire);
      if (next == tile) return true;
      if (next == kAborted) return false;
      next_.wait(next, std::memory_order_acquire);
    }
  }
  // By the tile whose turn it is. Does nothing once a tile failed: those still to come must learn of it.
  void pass_on(std::int64_t tile) {
    next_.compare_exchange_strong(tile, tile + 1, std::memory_order_release, std::memory_order_relaxed);
    next_.notify_all();
  }
  void abort() {
    next_.store(kAborted, std::memory_order_release);
    next_.notify_all();
  }

 private:
  static constexpr std::int64_t kAborted = -1;

  std::atomic<std::int64_t> next_{0};
};

struct HeadProgress {
  Turn turn;
  RowSums sums;
};

class HeadRunner {
 public:
  HeadRunner(const std::vector<HeadTask>& heads, std::int64_t keys)
      : heads_(heads), keys_(keys), pool_(longest(heads)), progress_(heads.size()) {
    first_tile_.push_back(0);
    for (const HeadTask& task : heads) first_tile_.push_back(first_tile_.back() + HeadTiles(task.problem).count());
  }

  // Workspaces must fit the sequence whose keys touch most blocks.
  static const HeadTask& longest(const std::vector<HeadTask>& heads) {
    const auto shorter = [](const HeadTask& a, const HeadTask& b) {
      return a.problem.blocks().count() < b.problem.blocks().count();
    };
    return *std::max_element(heads.begin(), heads.end(), shorter);
  }

  std::int64_t tile_count() const { return first_tile_.back(); }

  void run_tile_at(std::int64_t index) {
    const auto after = std::upper_bound(first_tile_.begin(), first_tile_.end(), index);
    const std::size_t head = static_cast<std::size_t>(after - first_tile_.begin()) - 1;
    try {
      run_one(head, index - first_tile_[head]);
    } catch (...) {
      progress_[head].turn.abort();
      throw;
    }
  }

  // Heads without a row have sums of zero.
  void finish_empty_heads() {
    for (std::size_t head = 0; head < heads_.size(); ++head) {
      if (first_tile_[head] != first_tile_[head + 1] || !sums_rows(heads_[head].sight)) continue;
      open_sums(head);
      close_sums(head);
      const HeadSight& sight = heads_[head].sight;
      std::fill_n(sight.overview, sight.overview_rows * sight.overview_cols, 0.0f);
    }
  }

 private:
  static bool sums_rows(const HeadSight& sight) { return sight.key_mass != nullptr || sight.overview != nullptr; }

  void run_one(std::size_t head, std::int64_t index) {
    const HeadTask& task = heads_[head];
    const HeadTiles tiles(task.problem);
    const TileRows tile = tiles.at(index);
    auto workspace = pool_.take();
    run_tile(task.problem, task.sight, tile, *workspace);
    if (sums_rows(task.sight) && progress_[head].turn.wait_for(index)) {
      if (index == 0) open_sums(head);
      commit_tile(task.problem, task.sight, tile, *workspace, progress_[head].sums);
      if (index + 1 == tiles.count()) close_sums(head);
      progress_[head].turn.pass_on(index);
    }
    pool_.give_back(std::move(workspace));
  }

  void open_sums(std::size_t head) {
    const HeadSight& sight = heads_[head].sight;
    RowSums& sums = progress_[head].sums;
    if (sight.key_mass != nullptr) sums.mass = AlignedBuffer<float>::zeroed(static_cast<std::size_t>(keys_) * kChains);
    sums.overview = AlignedBuffer<float>::zeroed(static_cast<std::size_t>(sight.overview_cols) * kChains);
  }

  void close_sums(std::size_t head) {
    const HeadSight& sight = heads_[head].sight;
    RowSums& sums = progress_[head].sums;
    for (std::int64_t key = 0; sight.key_mass != nullptr && key < keys_; ++key) {
      sight.key_mass[key] = fold_chains(sums.mass.data() + key * kChains);
    }
    sums = {};
  }

  const std::vector<HeadTask>& heads_;
  const std::int64_t keys_;
  WorkspacePool pool_;
  std::vector<HeadProgress> progress_;
  std::vector<std::int64_t> first_tile_;  // [heads + 1] running count of tiles
};

}  // namespace

void run_heads(const std::vector<HeadTask>& heads, std::int64_t keys, int threads) {
  if (heads.empty()) return;
  HeadRunner runner(heads, keys);
  runner.finish_empty_heads();
  cpu::parallel_for(runner.tile_count(), threads, [&](std::int64_t index) { runner.run_tile_at(index); });
}

}  // namespace sightline
