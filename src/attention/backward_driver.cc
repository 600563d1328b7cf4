#include "src/attention/backward_driver.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "src/attention/backward_kernel.h"
#include "src/cpu/parallel.h"

namespace sightline {
namespace {

constexpr std::int64_t kChunkBlocks = kChunkKeys / kBlockKeys;

constexpr std::int64_t kFinished = INT64_MAX;
constexpr std::size_t kNone = SIZE_MAX;

// A chunk of the keys of one group.
struct Task {
  std::size_t group = 0;
  BlockRange blocks;
  bool first = false, last = false;  // chunk of its group
  // The task that adds to the same gradients of a bias before this one does, block by block or to its end.
  std::size_t before = kNone;
  bool to_its_end = false;
};

std::vector<Task> tasks_of(const std::vector<BackwardGroup>& groups) {
  std::vector<Task> tasks;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const BlockRange blocks = groups[group].problem().blocks();
    std::int64_t at = blocks.begin;
    do {  // a group without keys has gradients too
      const std::int64_t next = std::min((at / kChunkBlocks + 1) * kChunkBlocks, blocks.end);
      tasks.push_back({group, {at, next}, at == blocks.begin, next == blocks.end});
      at = next;
    } while (at < blocks.end);
  }
  return tasks;
}

// Where groups share the gradient of a bias, they add to it in ascending order. Where blocks are the same keys in all
// groups, a group may follow another block by block.
void order_bias_gradients(const std::vector<BackwardGroup>& groups, std::vector<Task>& tasks) {
  const std::int64_t position = groups.front().problem().key_position;
  const bool aligned = std::all_of(groups.begin(), groups.end(), [&](const BackwardGroup& group) {
    return group.problem().key_position == position;
  });
  std::map<std::pair<const float*, std::int64_t>, std::size_t> last;
  for (std::size_t index = 0; index < tasks.size(); ++index) {
    Task& task = tasks[index];
    const Matrix<float>& dbias = groups[task.group].heads.front().dbias;
    if (!dbias) continue;
    task.to_its_end = !aligned || dbias.column_stride == 0;
    const std::int64_t chunk = task.to_its_end ? 0 : task.blocks.begin / kChunkBlocks;
    const auto [found, inserted] = last.try_emplace({dbias.data, chunk}, index);
    if (!inserted) task.before = std::exchange(found->second, index);
  }
}

// A number that only grows, for others to wait on.
class Progress {
 public:
  void wait_until(std::int64_t value) const {
    for (std::int64_t now = value_.load(std::memory_order_acquire); now < value;
         now = value_.load(std::memory_order_acquire)) {
      value_.wait(now, std::memory_order_acquire);
    }
  }
  void reach(std::int64_t value) {
    value_.store(value, std::memory_order_release);
    value_.notify_all();
  }

 private:
  std::atomic<std::int64_t> value_{0};
};

class BackwardRunner {
 public:
  explicit BackwardRunner(const std::vector<BackwardGroup>& groups)
      : groups_(groups), tasks_(tasks_of(groups)), done_(tasks_.size()), bias_sums_(tasks_.size()) {
    order_bias_gradients(groups, tasks_);
  }

  std::int64_t count() const { return static_cast<std::int64_t>(tasks_.size()); }

  void run(std::int64_t index) {
    try {
      run_task(static_cast<std::size_t>(index));
    } catch (...) {
      done_[index].reach(kFinished);  // none may wait for what will not come; the error is rethrown at the end
      throw;
    }
  }

  // [groups, heads], chunks ascending.
  std::vector<BiasSums> bias_sums() const {
    const std::size_t heads = groups_.front().heads.size();
    std::vector<BiasSums> sums(groups_.size() * heads);
    for (std::size_t index = 0; index < tasks_.size(); ++index) {
      for (std::size_t head = 0; head < heads; ++head) {
        add(bias_sums_[index][head], sums[tasks_[index].group * heads + head]);
      }
    }
    return sums;
  }

 private:
  static void add(const BiasSums& from, BiasSums& to) {
    to.slope += from.slope;
    to.buckets.resize(from.buckets.size());
    for (std::size_t i = 0; i < from.buckets.size(); ++i) to.buckets[i] += from.buckets[i];
  }

  void run_task(std::size_t index) {
    const Task& task = tasks_[index];
    const BackwardGroup& group = groups_[task.group];
    auto workspace = take_workspace();
    workspace->begin_chunk(group);
    const std::int64_t together = BackwardWorkspace::blocks_together(group);
    for (std::int64_t at = task.blocks.begin; at < task.blocks.end; at += together) {
      const std::int64_t next = std::min(at + together, task.blocks.end);
      if (task.before != kNone) done_[task.before].wait_until(task.to_its_end ? kFinished : next);
      run_key_blocks(group, {at, next}, *workspace);
      done_[index].reach(next);
    }
    if (!task.first) done_[index - 1].wait_until(kFinished);
    write_query_sums(group, !task.first, *workspace);
    if (task.last) clear_unused_keys(group);
    bias_sums_[index] = workspace->bias_sums;
    done_[index].reach(kFinished);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

  std::unique_ptr<BackwardWorkspace> take_workspace() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto workspace = std::move(idle_.back());
        idle_.pop_back();
        return workspace;
      }
    }
    const auto shorter = [](const BackwardGroup& a, const BackwardGroup& b) {
      return a.problem().rows < b.problem().rows;
    };
    return std::make_unique<BackwardWorkspace>(*std::max_element(groups_.begin(), groups_.end(), shorter));
  }

  // dq of the chunk, times the scale, to where it belongs: the first chunk of a group sets it, the others add.
  static void write_query_sums(const BackwardGroup& group, bool add, const BackwardWorkspace& workspace) {
    const HeadProblem& problem = group.problem();
    const float* sums = workspace.query_sums.data();
    for (const BackwardHead& head : group.heads) {
      for (std::int64_t index = 0; index < backward_tiles(problem.rows); ++index, sums += problem.width * kTileRows) {
        if (head.dq) write_tile(head, backward_tile(problem.rows, index), sums, add);
      }
    }
  }

  // sums: [width, lanes].
  static void write_tile(const BackwardHead& head, const TileRows& tile, const float* sums, bool add) {
    for (int lane = 0; lane < tile.live_end; ++lane) {
      for (std::int64_t t = 0; t < head.problem.width; ++t) {
        float& to = head.dq.at(tile.row(lane), t);
        to = sums[t * tile.lanes + lane] * head.problem.scale + (add ? to : 0.0f);
      }
    }
  }

  static void clear_unused_keys(const BackwardGroup& group) {
    for (std::int64_t key = group.problem().keys; key < group.tensor_keys; ++key) {
      for (std::int64_t t = 0; group.dk && t < group.problem().width; ++t) group.dk.at(key, t) = 0;
      for (std::int64_t t = 0; group.dv && t < group.problem().value_width; ++t) group.dv.at(key, t) = 0;
    }
  }

  const std::vector<BackwardGroup>& groups_;
  std::vector<Task> tasks_;
  std::vector<Progress> done_;
  std::vector<std::vector<BiasSums>> bias_sums_;  // [tasks, heads]
  std::mutex mutex_;
  std::vector<std::unique_ptr<BackwardWorkspace>> idle_;
};

}  // namespace

std::vector<BiasSums> run_backward(const std::vector<BackwardGroup>& groups, int threads) {
  if (groups.empty()) return {};
  BackwardRunner runner(groups);
  cpu::parallel_for(runner.count(), threads, [&](std::int64_t index) { runner.run(index); });
  return runner.bias_sums();
}

}  // namespace sightline
