#include "src/attention/pass_driver.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "sightline/error.h"
#include "src/attention/kernel.h"
#include "src/attention/progress_report.h"
#include "src/attention/task_tiles.h"
#include "src/cpu/parallel.h"

namespace sightline {
namespace {

// Things that workers borrow: as many as are in use at once, and all made beforehand.
template <class T>
class Pool {
 public:
  explicit Pool(std::pmr::memory_resource* memory) : all_(memory), idle_(memory) {}

  // make(): one of them.
  template <class Make>
  void fill(std::size_t count, const Make& make) {
    all_.reserve(count);
    idle_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) idle_.push_back(&all_.emplace_back(make()));
  }

  T* take() {
    const std::lock_guard lock(mutex_);
    T* one = idle_.back();
    idle_.pop_back();
    return one;
  }
  void give_back(T* one) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(one);
  }

 private:
  std::mutex mutex_;
  std::pmr::vector<T> all_;
  std::pmr::vector<T*> idle_;
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
  RowSums* sums = nullptr;  // from its first tile to its last
};

bool sums_rows(const HeadSight& sight) { return sight.wants_mass() || sight.overview != nullptr; }

// What the chunks of one tile share, where long rows are split over threads: the state of each, or where rows are
// summed, which needs the weights too, the workspace that it ran in.
struct SplitTile {
  std::atomic<std::int64_t> left;
  std::pmr::vector<TileState> states;
  std::pmr::vector<TileWorkspace> workspaces;
  std::pmr::vector<TileState*> ascending;   // one or the other
  std::pmr::vector<TileWorkspace*> strips;  // workspaces

  // lanes: of the workspaces that the chunks run in otherwise.
  SplitTile(const HeadTask& task, std::int64_t count, int lanes, std::pmr::memory_resource* memory)
      : left(count), states(memory), workspaces(memory), ascending(memory), strips(memory) {
    const auto chunks = static_cast<std::size_t>(count);
    ascending.reserve(chunks);
    if (!sums_rows(task.sight)) {
      states.reserve(chunks);
      while (states.size() < chunks) {
        ascending.push_back(&states.emplace_back(task.problem, task.sight, lanes, memory));
      }
      return;
    }
    workspaces.reserve(chunks);
    strips.reserve(chunks);
    while (workspaces.size() < chunks) {
      const WorkspaceSize size{kChains, kChunkBlocks, 0};
      strips.push_back(&workspaces.emplace_back(task.problem, task.sight, size, memory));
      ascending.push_back(strips.back());
    }
  }
};

// One piece of work: a tile, or a chunk of it.
struct Unit {
  std::size_t task = 0;
  std::int64_t tile = 0;
  SplitTile* split = nullptr;
  std::int64_t chunk = 0;
};

// The chunks that hold a task's keys.
BlockRange chunks_of(const HeadProblem& head) {
  const BlockRange blocks = head.blocks();
  if (blocks.count() == 0) return {0, 1};  // one empty chunk, so that there is something to merge
  return {blocks.begin / kChunkBlocks, (blocks.end - 1) / kChunkBlocks + 1};
}

// About how long a tile takes.
std::int64_t work_of(const HeadProblem& head, const TileRows& tile) {
  return head.blocks(head.interval(tile)).count() * tile.lanes;
}

}  // namespace

class Pass::Impl {
 public:
  Impl(std::span<const HeadTask> tasks, const PassOptions& options, const PassStates& states)
      : tasks_(tasks),
        options_(options),
        states_(states),
        workspaces_(options.memory),
        sums_(options.memory),
        progress_(tasks.size(), options.memory),
        splits_(options.memory),
        units_(options.memory),
        progress_report_(options.progress, "pieces") {
    if (tasks.empty()) return;
    const WorkspaceSize size = workspace_size_of_tasks();
    list_units(size.lanes);
    const auto workers = static_cast<std::size_t>(std::min<std::int64_t>(options.workers.count(), count()));
    alone_ = workers == 1;
    const HeadTask& model = longest();
    workspaces_.fill(workers, [&] { return TileWorkspace(model.problem, model.sight, size, options.memory); });
    // A head's sums live from its first tile to its last: those at work, and one whose next tile is still to be taken.
    if (size.lanes > kChains && sums_rows(model.sight)) sums_.fill(workers + 1, [&] { return new_sums(); });
  }

  void run() {
    finish_empty_tasks();
    cpu::parallel_for(count(), options_.workers, [this](std::int64_t index) {
      run_unit(units_[static_cast<std::size_t>(index)]);
      progress_report_.advance(count());
    });
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(units_.size()); }

  void list_units(int lanes) {
    std::int64_t tiles = 0;
    for (const HeadTask& task : tasks_) tiles += TaskTiles(task.problem).count();
    units_.reserve(static_cast<std::size_t>(tiles));
    const std::int64_t most = most_work_of_unit();
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      const std::int64_t of_task = TaskTiles(tasks_[task].problem).count();
      for (std::int64_t tile = 0; tile < of_task; ++tile) add_units(task, tile, most, lanes);
    }
  }

  // Whatever takes longer is split: threads that have nothing else to do would wait for it.
  std::int64_t most_work_of_unit() const {
    const int threads = options_.workers.count();
    // What is saved or resumed is whole tiles.
    if (threads == 1 || states_.resume != nullptr || states_.save != nullptr) return INT64_MAX;
    std::int64_t work = 0;
    for (const HeadTask& task : tasks_) {
      const TaskTiles tiles(task.problem);
      for (std::int64_t tile = 0; tile < tiles.count(); ++tile) work += work_of(task.problem, tiles.at(tile));
    }
    return work / (kUnitsPerThread * threads);
  }

  void add_units(std::size_t task, std::int64_t tile, std::int64_t most, int lanes) {
    const HeadProblem& head = tasks_[task].problem;
    const BlockRange chunks = chunks_of(head);
    if (!stacks_rows(head.rows) || chunks.count() < 2 || work_of(head, TaskTiles(head).at(tile)) <= most) {
      units_.push_back({task, tile});
      return;
    }
    splits_.emplace_back(tasks_[task], chunks.count(), lanes, options_.memory);
    for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
      units_.push_back({task, tile, &splits_.back(), chunk});
    }
  }

  // Workspaces must fit the sequence whose keys touch most blocks.
  const HeadTask& longest() const {
    const auto shorter = [](const HeadTask& a, const HeadTask& b) {
      return a.problem.blocks().count() < b.problem.blocks().count();
    };
    return *std::max_element(tasks_.begin(), tasks_.end(), shorter);
  }

  WorkspaceSize workspace_size_of_tasks() const {
    WorkspaceSize size{kChains, longest().problem.blocks().count(), 0};
    for (const HeadTask& task : tasks_) {
      if (!stacks_rows(task.problem.rows)) size.lanes = kTileRows;
      const bool meet = task.sight.key_mass != nullptr && task.sight.mass_sums == nullptr;
      if (meet && stacks_rows(task.problem.rows) && task.problem.rows > 1) {
        size.chain_keys = std::max(size.chain_keys, task.sight.keys);
      }
    }
    return size;
  }

  RowSums new_sums() const {
    std::int64_t keys = 0;
    for (const HeadTask& task : tasks_) keys = std::max(keys, task.sight.wants_mass() ? task.sight.keys : 0);
    const auto columns = static_cast<std::size_t>(tasks_[0].sight.overview_cols);
    return {AlignedBuffer<float>(static_cast<std::size_t>(keys) * kChains, options_.memory),
            AlignedBuffer<float>(columns * kChains, options_.memory)};
  }

  // Tasks without a row have sums of zero.
  void finish_empty_tasks() const {
    for (const HeadTask& task : tasks_) {
      if (task.problem.rows > 0) continue;
      const HeadSight& sight = task.sight;
      for (std::int64_t head = 0; sight.key_mass != nullptr && head < task.problem.heads; ++head) {
        float* mass = sight.key_mass + head * sight.key_stride;
        std::fill_n(mass, sight.keys, 0.0f);
        if (sight.mass_sums != nullptr) read_mass(task, sight.mass_sums + head * kChains * sight.mass_sums_keys, mass);
        measure(task, head);
      }
      std::fill_n(sight.overview, task.problem.heads * sight.overview_rows * sight.overview_cols, 0.0f);
    }
  }

  void run_unit(const Unit& unit) {
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

  void run_whole(const Unit& unit) {
    const HeadTask& task = tasks_[unit.task];
    const TaskTiles tiles(task.problem);
    const TileRows tile = tiles.at(unit.tile);
    const auto index = static_cast<std::size_t>(&unit - units_.data());
    const TileState* resume = states_.resume == nullptr ? nullptr : &states_.resume->tiles[index];
    TileState* save = states_.save == nullptr ? nullptr : &states_.save->tiles[index];
    const Borrowed workspace(workspaces_);
    run_tile(task.problem, task.sight, tile, resume, save, *workspace);
    if (tile.stacked > 0) {
      TileWorkspace* const strip = &*workspace;
      finish_stacked(task, tile, *workspace, {&strip, 1});
    } else if (sums_rows(task.sight) && progress_[unit.task].turn.wait_for(unit.tile)) {
      if (unit.tile == 0) open_sums(unit.task);
      const bool last = unit.tile + 1 == tiles.count();
      commit_tile(task.problem, task.sight, tile, *workspace, *progress_[unit.task].sums, !last && alone_);
      if (last) close_sums(unit.task);
      progress_[unit.task].turn.pass_on(unit.tile);
    }
  }

  void run_chunk_of(const Unit& unit) {
    const HeadTask& task = tasks_[unit.task];
    const TileRows tile = TaskTiles(task.problem).at(unit.tile);
    SplitTile& split = *unit.split;
    const auto index = static_cast<std::size_t>(unit.chunk - chunks_of(task.problem).begin);
    if (split.strips.empty()) {
      const Borrowed workspace(workspaces_);
      run_chunk(task.problem, task.sight, tile, unit.chunk, *workspace);
      split.states[index].copy(*workspace);
    } else {
      run_chunk(task.problem, task.sight, tile, unit.chunk, *split.strips[index]);
    }
    if (split.left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    const Borrowed workspace(workspaces_);
    merge_chunks(task.problem, task.sight, tile, split.ascending, *workspace);
    finish_stacked(task, tile, *workspace, split.strips);
  }

  void finish_stacked(const HeadTask& task, const TileRows& tile, TileWorkspace& workspace,
                      std::span<TileWorkspace* const> strips) const {
    if (!sums_rows(task.sight)) return;
    commit_stacked(task.problem, task.sight, tile, workspace, strips);
    for (std::int64_t head = tile.head(0); head <= tile.head(tile.live_end - 1); ++head) measure(task, head);
  }

  // Without a new row the running sums are those after the last one.
  static void read_mass(const HeadTask& task, const float* sums, float* mass) {
    const MassReader reader(task.problem, task.sight);
    for (std::int64_t key = 0; key < task.sight.keys; ++key)
      mass[key] = reader.read(sums + key, task.sight.mass_sums_keys);
  }

  static void measure(const HeadTask& task, std::int64_t head) {
    if (task.sight.key_mass == nullptr || !task.sight.measures_values()) return;
    measure_mass(task.problem, task.sight.key_mass + head * task.sight.key_stride);
  }

  void open_sums(std::size_t task) {
    const HeadSight& sight = tasks_[task].sight;
    RowSums& sums = *(progress_[task].sums = sums_.take());
    std::fill(sums.mass.begin(), sums.mass.end(), 0.0f);
    std::fill(sums.overview.begin(), sums.overview.end(), 0.0f);
    for (std::int64_t key = 0; sight.mass_sums != nullptr && key < sight.keys; ++key) {
      for (int r = 0; r < kChains; ++r) sums.mass[key * kChains + r] = sight.mass_sums[r * sight.mass_sums_keys + key];
    }
    std::fill_n(sight.overview, sight.overview_rows * sight.overview_cols, 0.0f);
  }

  void close_sums(std::size_t task) {
    const HeadSight& sight = tasks_[task].sight;
    RowSums& sums = *progress_[task].sums;
    const MassReader reader(tasks_[task].problem, sight);
    for (std::int64_t key = 0; sight.key_mass != nullptr && key < sight.keys; ++key) {
      sight.key_mass[key] = reader.read(sums.mass.data() + key * kChains, 1);
    }
    for (std::int64_t key = 0; sight.mass_sums != nullptr && key < sight.keys; ++key) {
      for (int r = 0; r < kChains; ++r) sight.mass_sums[r * sight.mass_sums_keys + key] = sums.mass[key * kChains + r];
    }
    measure(tasks_[task], 0);
    sums_.give_back(&sums);
  }

  static constexpr std::int64_t kUnitsPerThread = 2;

  // Lent for as long as it is in scope.
  class Borrowed {
   public:
    explicit Borrowed(Pool<TileWorkspace>& pool) : pool_(pool), workspace_(pool.take()) {}
    ~Borrowed() { pool_.give_back(workspace_); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    TileWorkspace& operator*() const { return *workspace_; }

   private:
    Pool<TileWorkspace>& pool_;
    TileWorkspace* const workspace_;
  };

  const std::span<const HeadTask> tasks_;
  const PassOptions options_;
  const PassStates states_;
  Pool<TileWorkspace> workspaces_;
  Pool<RowSums> sums_;
  bool alone_ = false;  // one worker runs all units, one after the other
  std::pmr::vector<HeadProgress> progress_;
  std::pmr::list<SplitTile> splits_;
  std::pmr::vector<Unit> units_;
  ProgressReport progress_report_;
};

Pass::Pass(std::span<const HeadTask> tasks, const PassOptions& options, const PassStates& states)
    : memory_(options.memory), impl_(memory_.new_object<Impl>(tasks, options, states)) {}
Pass::~Pass() { memory_.delete_object(impl_); }

void Pass::run() { impl_->run(); }

}  // namespace sightline
