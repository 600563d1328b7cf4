// The examples of docs/library.md.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "sightline/error.h"
#include "sightline/state.h"

namespace {

using namespace sightline;

// Threads that wait for work: what stands for an engine's own.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  int size() const { return static_cast<int>(threads_.size()); }
  void submit(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

 private:
  void work(const std::stop_token& stop) {
    for (std::unique_lock lock(mutex_); changed_.wait(lock, stop, [&] { return !tasks_.empty(); });) {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::jthread> threads_;
};

// [docs/library.md
// The pieces of a call on the engine's own threads. The calling thread works too.
class PoolExecutor final : public Executor {
 public:
  explicit PoolExecutor(Pool& pool) : pool_(pool) {}
  int concurrency() const override { return pool_.size() + 1; }
  void run(int count, const std::function<void()>& body) override {
    std::latch all(count - 1);
    for (int i = 1; i < count; ++i) {
      pool_.submit([&] {
        body();  // never throws
        all.count_down();
      });
    }
    body();
    all.wait();
  }

 private:
  Pool& pool_;
};

// Ends a call when the user pressed a key.
class StopWhenAsked final : public Progress {
 public:
  explicit StopWhenAsked(const std::atomic<bool>& asked) : asked_(asked) {}
  bool advance(std::int64_t, std::int64_t) override { return !asked_; }

 private:
  const std::atomic<bool>& asked_;
};

// What calls that come one after the other share. Another thread needs one of its own.
class Caller {
 public:
  Caller(Pool& pool, const std::atomic<bool>& stop) : executor_(pool), progress_(stop) {}

  // Takes the memory for the largest call at once, so that none is taken later.
  void prepare(const AttentionProblem& largest, const MutableTensorView& out) {
    workspace_.reserve(workspace_size(largest, out, {}, options()));
  }
  // False: the user asked to stop. The workspace can be used again, and out holds a part of the result.
  bool attend(const AttentionProblem& problem, const MutableTensorView& out) {
    try {
      attention(problem, out, {}, options());
      return true;
    } catch (const Cancelled&) {
      return false;
    }
  }
  // The layers of a model, which differ in numbers alone.
  void attend(std::span<const AttentionProblem> layers, const MutableTensorView& out) {
    AttentionPlan plan(layers[0], {}, options());
    for (const AttentionProblem& layer : layers) plan.run(layer, out);
  }

 private:
  AttentionOptions options() { return {.executor = &executor_, .workspace = &workspace_, .progress = &progress_}; }

  PoolExecutor executor_;
  StopWhenAsked progress_;
  Workspace workspace_{huge_page_resource()};
};

// Keys that two machines hold a part of each, and queries that see all of them.
void attend_in_parts(const AttentionProblem& left, const AttentionProblem& right, const MutableTensorView& out) {
  AttentionState state, of_right;
  attention(left, out, {}, {.save = &state});  // also: go on from here, {.resume = &state}, to the bits of one pass
  attention(right, out, {}, {.save = &of_right});
  merge_states(state, of_right);
  finish_state(left, state, out);
}
// docs/library.md]

class ExecutionExample : public ::testing::Test {
 protected:
  static constexpr std::int64_t kRows = 100, kKeys = 128, kWidth = 8;

  ExecutionExample() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (auto* values : {&q_, &kv_}) {
      for (float& x : *values) x = normal(random);
    }
    problem_.q = dense_view(q_.data(), {1, 1, kRows, kWidth});
    problem_.k = problem_.v = dense_view(kv_.data(), {1, 1, kKeys, kWidth});
    attention(problem_, view(expected_));
  }
  static MutableTensorView view(std::vector<float>& out) { return dense_view(out.data(), {1, 1, kRows, kWidth}); }

  std::vector<float> q_ = std::vector<float>(kRows * kWidth), kv_ = std::vector<float>(kKeys * kWidth), expected_ = q_,
                     out_ = q_;
  AttentionProblem problem_;
};

TEST_F(ExecutionExample, Runs) {
  Pool pool(2);
  std::atomic<bool> stop = false;
  Caller caller(pool, stop);
  caller.prepare(problem_, view(out_));
  EXPECT_TRUE(caller.attend(problem_, view(out_)));
  EXPECT_EQ(out_, expected_);
  stop = true;
  EXPECT_FALSE(caller.attend(problem_, view(out_)));
  stop = false;
  out_.assign(out_.size(), 7);
  caller.attend(std::vector<AttentionProblem>(3, problem_), view(out_));
  EXPECT_EQ(out_, expected_);
}

TEST_F(ExecutionExample, AttendsInParts) {
  AttentionProblem left = problem_, right = problem_;
  const SequenceSpan of_left{-1, 0, kKeys - kRows}, of_right{-1, 64, kKeys - kRows};
  left.k.shape[2] = left.v.shape[2] = right.k.shape[2] = right.v.shape[2] = 64;
  right.k.data = right.v.data = kv_.data() + 64 * kWidth;
  left.sequences = {&of_left, 1};
  right.sequences = {&of_right, 1};
  attend_in_parts(left, right, view(out_));
  for (std::size_t i = 0; i < out_.size(); ++i) EXPECT_NEAR(out_[i], expected_[i], 1e-5);
}

}  // namespace
