#include "src/attention/pass_driver.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "src/attention/kernel.h"
#include "src/cpu/parallel.h"

namespace sightline {
namespace {

// Workspaces are as many as there are workers, and reused: the strip of a long row is megabytes of pages.
class WorkspacePool {
 public:
  WorkspacePool(const HeadTask& model, const WorkspaceSize& size) : model_(model), size_(size) {}

  std::unique_ptr<TileWorkspace> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto workspace = std::move(idle_.back());
        idle_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<TileWorkspace>(model_.problem, model_.sight, size_);
  }
  void give_back(std::unique_ptr<TileWorkspace> workspace) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

 private:
  const HeadTask& model_;
  const WorkspaceSize size_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TileWorkspace>> idle_;
};

// The tiles of a task. Of one head: 48 rows each, the first beginning at a multiple of 16 in the sequence. Of stacked
// heads: as many whole heads as have 16 rows together.
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

// What the tiles of one head share.
struct HeadProgress {
  Turn turn;
  RowSums sums;
};

// What the chunks of one tile share, where long rows are split over threads.
struct SplitTile {
  std::atomic<std::int64_t> left;
  std::vector<std::unique_ptr<TileWorkspace>> chunks;

  explicit SplitTile(std::int64_t count) : left(count), chunks(static_cast<std::size_t>(count)) {}
};

// One piece of work: a tile, or a chunk of it.
struct Unit {
  std::size_t task = 0;
  std::int64_t tile = 0;
  SplitTile* split = nullptr;
  std::int64_t chunk = 0;
};

constexpr std::int64_t kChunkBlocks = kChunkKeys / kBlockKeys;

// The chunks that hold a task's keys.
BlockRange chunks_of(const HeadProblem& head) {
  const BlockRange blocks = head.blocks();
  if (blocks.count() == 0) return {0, 1};  // one empty chunk, so that there is something to merge
  return {blocks.begin / kChunkBlocks, (blocks.end - 1) / kChunkBlocks + 1};
}

class TaskRunner {
 public:
  TaskRunner(const std::vector<HeadTask>& tasks, int threads)
      : tasks_(tasks), pool_(longest(tasks), size_of(tasks)), progress_(tasks.size()) {
    std::int64_t tiles = 0;
    for (const HeadTask& task : tasks) tiles += TaskTiles(task.problem).count();
    // With fewer tiles than threads some would have nothing to do.
    const bool split = tiles < kTilesPerThread * threads && threads > 1;
    units_.reserve(static_cast<std::size_t>(tiles));
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      const std::int64_t count = TaskTiles(tasks[task].problem).count();
      for (std::int64_t tile = 0; tile < count; ++tile) add_units(task, tile, split);
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(units_.size()); }

  void run(std::int64_t index) {
    const Unit& unit = units_[static_cast<std::size_t>(index)];
    try {
      if (unit.split != nullptr) {
        run_chunk_of(unit);
      } else {
        run_whole(unit);
      }
    } catch (...) {
      progress_[unit.task].turn.abort();
      throw;
    }
  }

  // Tasks without a row have sums of zero.
  void finish_empty_tasks() {
    for (const HeadTask& task : tasks_) {
      if (task.problem.rows > 0) continue;
      const HeadSight& sight = task.sight;
      for (std::int64_t head = 0; head < task.problem.heads; ++head) {
        if (sight.key_mass != nullptr) std::fill_n(sight.key_mass + head * sight.key_stride, sight.keys, 0.0f);
      }
      std::fill_n(sight.overview, task.problem.heads * sight.overview_rows * sight.overview_cols, 0.0f);
    }
  }

 private:
  static constexpr std::int64_t kTilesPerThread = 2;

  // Workspaces must fit the sequence whose keys touch most blocks.
  static const HeadTask& longest(const std::vector<HeadTask>& tasks) {
    const auto shorter = [](const HeadTask& a, const HeadTask& b) {
      return a.problem.blocks().count() < b.problem.blocks().count();
    };
    return *std::max_element(tasks.begin(), tasks.end(), shorter);
  }

  static WorkspaceSize size_of(const std::vector<HeadTask>& tasks) {
    WorkspaceSize size{kChains, longest(tasks).problem.blocks().count(), 0};
    for (const HeadTask& task : tasks) {
      if (!stacks_rows(task.problem.rows)) size.lanes = kTileRows;
      const bool meet = task.sight.key_mass != nullptr && task.sight.mass_sums == nullptr;
      if (meet && stacks_rows(task.problem.rows) && task.problem.rows > 1) {
        size.chain_keys = std::max(size.chain_keys, task.sight.keys);
      }
    }
    return size;
  }

  void add_units(std::size_t task, std::int64_t tile, bool split) {
    const BlockRange chunks = chunks_of(tasks_[task].problem);
    if (!split || !stacks_rows(tasks_[task].problem.rows) || chunks.count() < 2) {
      units_.push_back({task, tile});
      return;
    }
    splits_.push_back(std::make_unique<SplitTile>(chunks.count()));
    for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
      units_.push_back({task, tile, splits_.back().get(), chunk});
    }
  }

  static bool sums_rows(const HeadSight& sight) { return sight.wants_mass() || sight.overview != nullptr; }

  void run_whole(const Unit& unit) {
    const HeadTask& task = tasks_[unit.task];
    const TaskTiles tiles(task.problem);
    const TileRows tile = tiles.at(unit.tile);
    auto workspace = pool_.take();
    run_tile(task.problem, task.sight, tile, *workspace);
    if (tile.stacked > 0) {
      TileWorkspace* const strip = workspace.get();
      finish_stacked(task, tile, *workspace, {&strip, 1});
    } else if (sums_rows(task.sight) && progress_[unit.task].turn.wait_for(unit.tile)) {
      if (unit.tile == 0) open_sums(unit.task);
      commit_tile(task.problem, task.sight, tile, *workspace, progress_[unit.task].sums);
      if (unit.tile + 1 == tiles.count()) close_sums(unit.task);
      progress_[unit.task].turn.pass_on(unit.tile);
    }
    pool_.give_back(std::move(workspace));
  }

  void run_chunk_of(const Unit& unit) {
    const HeadTask& task = tasks_[unit.task];
    const TileRows tile = TaskTiles(task.problem).at(unit.tile);
    SplitTile& split = *unit.split;
    auto& mine = split.chunks[static_cast<std::size_t>(unit.chunk - chunks_of(task.problem).begin)];
    mine = std::make_unique<TileWorkspace>(task.problem, task.sight, WorkspaceSize{kChains, kChunkBlocks, 0});
    run_chunk(task.problem, task.sight, tile, unit.chunk, *mine);
    if (split.left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    auto workspace = pool_.take();
    std::vector<TileWorkspace*> chunks;
    for (const auto& chunk : split.chunks) chunks.push_back(chunk.get());
    merge_chunks(task.problem, task.sight, tile, chunks, *workspace);
    finish_stacked(task, tile, *workspace, chunks);
    split.chunks.clear();
    pool_.give_back(std::move(workspace));
  }

  void finish_stacked(const HeadTask& task, const TileRows& tile, TileWorkspace& workspace,
                      std::span<TileWorkspace* const> strips) {
    if (!sums_rows(task.sight)) return;
    commit_stacked(task.problem, task.sight, tile, workspace, strips);
    for (std::int64_t head = tile.head(0); head <= tile.head(tile.live_end - 1); ++head) measure(task, head);
  }

  void measure(const HeadTask& task, std::int64_t head) {
    if (task.sight.key_mass == nullptr || !task.sight.measures_values()) return;
    measure_mass(task.problem, task.sight.key_mass + head * task.sight.key_stride);
  }

  void open_sums(std::size_t task) {
    const HeadSight& sight = tasks_[task].sight;
    RowSums& sums = progress_[task].sums;
    if (sight.wants_mass()) sums.mass = AlignedBuffer<float>::zeroed(static_cast<std::size_t>(sight.keys) * kChains);
    for (std::int64_t key = 0; sight.mass_sums != nullptr && key < sight.keys; ++key) {
      for (int r = 0; r < kChains; ++r) sums.mass[key * kChains + r] = sight.mass_sums[r * sight.mass_sums_keys + key];
    }
    sums.overview = AlignedBuffer<float>::zeroed(static_cast<std::size_t>(sight.overview_cols) * kChains);
    std::fill_n(sight.overview, sight.overview_rows * sight.overview_cols, 0.0f);
  }

  void close_sums(std::size_t task) {
    const HeadSight& sight = tasks_[task].sight;
    RowSums& sums = progress_[task].sums;
    const MassReader reader(tasks_[task].problem, sight);
    for (std::int64_t key = 0; sight.key_mass != nullptr && key < sight.keys; ++key) {
      sight.key_mass[key] = reader.read(sums.mass.data() + key * kChains, 1);
    }
    for (std::int64_t key = 0; sight.mass_sums != nullptr && key < sight.keys; ++key) {
      for (int r = 0; r < kChains; ++r) sight.mass_sums[r * sight.mass_sums_keys + key] = sums.mass[key * kChains + r];
    }
    measure(tasks_[task], 0);
    sums = {};
  }

  const std::vector<HeadTask>& tasks_;
  WorkspacePool pool_;
  std::vector<HeadProgress> progress_;
  std::vector<std::unique_ptr<SplitTile>> splits_;
  std::vector<Unit> units_;
};

}  // namespace

void run_tasks(const std::vector<HeadTask>& tasks, int threads) {
  if (tasks.empty()) return;
  threads = cpu::resolve_threads(threads);
  TaskRunner runner(tasks, threads);
  runner.finish_empty_tasks();
  cpu::parallel_for(runner.count(), threads, [&](std::int64_t index) { runner.run(index); });
}

}  // namespace sightline
