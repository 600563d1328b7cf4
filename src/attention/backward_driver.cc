#include "src/attention/backward_driver.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "src/attention/backward_kernel.h"
#include "src/attention/backward_plan.h"
#include "src/attention/progress_report.h"
#include "src/cpu/parallel.h"

namespace sightline {
namespace {

constexpr std::int64_t kFinished = INT64_MAX;

// A number that only grows, for others to wait on: how many tiles a part is done with.
class Turns {
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

// dq of one chunk, before the scale: made for its first part, gone after its last.
struct QuerySums {
  AlignedBuffer<float> sums;  // [heads, tiles, width, kTileRows]
  std::size_t parts_left = 0;
};

class BackwardRunner {
 public:
  BackwardRunner(const std::vector<BackwardGroup>& groups, const BackwardWorkers& workers)
      : groups_(groups),
        progress_(workers.progress, "blocks of keys"),
        plan_(groups, workers.threads.count()),
        done_(plan_.parts.size()),
        query_sums_(plan_.chunks.size()),
        bias_sums_(plan_.parts.size()) {
    for (std::size_t i = 0; i < plan_.chunks.size(); ++i) {
      query_sums_[i].parts_left = plan_.chunks[i].end - plan_.chunks[i].first;
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(plan_.order.size()); }

  void run(std::int64_t index) {
    const std::size_t part = plan_.order[static_cast<std::size_t>(index)];
    try {
      run_part(part);
    } catch (...) {
      done_[part].reach(kFinished);  // none may wait for what will not come; the error is rethrown at the end
      throw;
    }
  }

  // [groups, heads], parts ascending.
  std::vector<BiasSums> bias_sums() const {
    const std::size_t heads = groups_.front().heads.size();
    std::vector<BiasSums> sums(groups_.size() * heads);
    for (std::size_t part = 0; part < plan_.parts.size(); ++part) {
      for (std::size_t head = 0; head < heads; ++head) {
        sums[plan_.parts[part].group * heads + head].add(bias_sums_[part][head]);
      }
    }
    return sums;
  }

 private:
  void run_part(std::size_t index) {
    const BackwardPart& part = plan_.parts[index];
    const BackwardGroup& group = groups_[part.group];
    auto workspace = take_workspace();
    workspace->begin_part(group);
    float* sums = sums_of(part);
    if (part.before != BackwardPart::kNone) done_[part.before].wait_until(kFinished);
    const auto begin = [&](const TileTurn& turn) { wait_for_tile(index, turn); };
    const auto end = [&](const TileTurn& turn) { finish_tile(index, turn, sums); };
    run_key_blocks(group, part.blocks, *workspace, sums, begin, end);
    bias_sums_[index] = workspace->bias_sums;
    done_[index].reach(kFinished);
    give_back(std::move(workspace), part);
    progress_.advance(count());
  }

  // dq adds keys ascending: the part before this one in the chunk must be done with the tile, if it sees it.
  void wait_for_tile(std::size_t index, const TileTurn& turn) const {
    const BackwardPart& part = plan_.parts[index];
    const bool first = plan_.chunks[part.chunk].first == index;
    if (!first && turn.seen.begin < part.blocks.begin) done_[index - 1].wait_until(turn.number + 1);
  }

  // The last part of a chunk that sees the tile adds the chunk's dq, after the chunk before it.
  void finish_tile(std::size_t index, const TileTurn& turn, const float* sums) {
    const BackwardPart& part = plan_.parts[index];
    const BackwardPlan::Chunk& chunk = plan_.chunks[part.chunk];
    if (turn.seen.end <= part.blocks.end || part.blocks.end == chunk.blocks.end) {
      if (turn.seen.begin < chunk.blocks.begin) done_[chunk.first - 1].wait_until(turn.number + 1);
      add_queries(groups_[part.group].heads[turn.head], turn, sums);
    }
    done_[index].reach(turn.number + 1);
  }

  static void add_queries(const BackwardHead& head, const TileTurn& turn, const float* sums) {
    sums += turn.number * head.problem.width * kTileRows;
    for (int lane = 0; head.dq && lane < turn.tile.live_end; ++lane) {
      for (std::int64_t t = 0; t < head.problem.width; ++t) {
        head.dq.at(turn.tile.row(lane), t) += sums[t * turn.tile.lanes + lane] * head.problem.scale;
      }
    }
  }

  float* sums_of(const BackwardPart& part) {
    const BackwardGroup& group = groups_[part.group];
    const std::lock_guard lock(mutex_);
    AlignedBuffer<float>& sums = query_sums_[part.chunk].sums;
    if (sums.empty()) {
      const std::int64_t tiles = static_cast<std::int64_t>(group.heads.size()) * backward_tiles(group.problem().rows);
      sums = AlignedBuffer<float>::zeroed(static_cast<std::size_t>(tiles * group.problem().width * kTileRows));
    }
    return sums.data();
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
    return std::make_unique<BackwardWorkspace>(groups_.front());
  }

  void give_back(std::unique_ptr<BackwardWorkspace> workspace, const BackwardPart& part) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
    QuerySums& of_chunk = query_sums_[part.chunk];
    if (--of_chunk.parts_left == 0) of_chunk.sums = {};
  }

  const std::vector<BackwardGroup>& groups_;
  ProgressReport progress_;
  const BackwardPlan plan_;
  std::vector<Turns> done_;                       // [parts]
  std::vector<QuerySums> query_sums_;             // [chunks]
  std::vector<std::vector<BiasSums>> bias_sums_;  // [parts, heads]
  std::mutex mutex_;
  std::vector<std::unique_ptr<BackwardWorkspace>> idle_;
};

}  // namespace

std::vector<BiasSums> run_backward(const std::vector<BackwardGroup>& groups, const BackwardWorkers& workers) {
  if (groups.empty()) return {};
  BackwardRunner runner(groups, workers);
  cpu::parallel_for(runner.count(), workers.threads, [&](std::int64_t index) { runner.run(index); });
  return runner.bias_sums();
}

}  // namespace sightline
