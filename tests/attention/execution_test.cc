// How a call runs - on whose threads, with whose memory, watched or stopped - changes no bit of its result.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sightline/error.h"
#include "tests/attention/drawn.h"
#include "tests/attention/executors.h"
#include "tests/attention/observed.h"
#include "tests/attention/random_problem.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

ProblemRecipe recipe_of(std::int64_t queries, std::int64_t keys) {
  ProblemRecipe recipe;
  recipe.seed = 11;
  recipe.batch = 2;
  recipe.kv_heads = 2;
  recipe.group = 2;
  recipe.queries = queries;
  recipe.keys = keys;
  recipe.width = 16;
  recipe.value_width = 16;
  return recipe;
}

TEST(ExecutionExecutor, GivesTheSameBits) {
  Skips skips;
  check_property(
      [&] {
        const ProblemRecipe recipe = *any_recipe();
        skips.run(recipe, [&] {
          const Drawn drawn(recipe);
          const Observed one = drawn.run({.threads = 1});
          LateThreads late(3), fewer(4, 2), none(2, 2);
          OneAfterTheOther serial;
          for (Executor* executor : {static_cast<Executor*>(&late), static_cast<Executor*>(&fewer),
                                     static_cast<Executor*>(&none), static_cast<Executor*>(&serial)}) {
            const std::string difference = drawn.run({.executor = executor}).difference(one);
            if (!difference.empty()) RC_FAIL(difference);
          }
        });
      },
      0.05);
}

// Few and long rows are split over threads, many are tiles.
TEST(ExecutionExecutor, GivesTheSameBitsOfLongRows) {
  for (const std::int64_t queries : {1, 100}) {
    const Drawn drawn(recipe_of(queries, 9000));
    const Observed one = drawn.run({.threads = 1});
    LateThreads late(5), fewer(5, 4);
    EXPECT_EQ(drawn.run({.executor = &late}).difference(one), "");
    EXPECT_EQ(drawn.run({.executor = &fewer}).difference(one), "");
  }
}

// Says something else each time.
class Moody final : public Executor {
 public:
  int concurrency() const override { return 1 + asked_++ % 7; }
  void run(int count, const std::function<void()>& body) override { LateThreads(count).run(count, body); }

 private:
  mutable std::atomic<int> asked_{0};
};

TEST(ExecutionExecutor, MayChangeWhatItHas) {
  const Drawn drawn(recipe_of(70, 200));
  const Observed one = drawn.run({.threads = 1});
  Moody moody;
  for (int n = 0; n < 30; ++n) EXPECT_EQ(drawn.run({.executor = &moody}).difference(one), "");
}

struct Thrown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Every kind of function of the caller's may throw; it comes out once, and what the call used can be used again.
TEST(Execution, RethrowsOnceWhatACallersFunctionThrows) {
  std::atomic<int> alive{0};
  struct Counted : Thrown {
    std::atomic<int>* alive;
    explicit Counted(std::atomic<int>& count) : Thrown("of the caller's"), alive(&count) { ++*alive; }
    Counted(const Counted& other) : Thrown(other), alive(other.alive) { ++*alive; }
    ~Counted() override { --*alive; }
  };
  const auto score = score_function([&](float, const ScorePair& pair) -> float {
    if (pair.row % 3 == 1) throw Counted(alive);
    return 0;
  });
  const auto mask = mask_function([&](const ScorePair&) -> bool { throw Counted(alive); });
  const auto summary =
      mask_function([](const ScorePair&) { return true; }, [&](const ScoreTile&) -> Sees { throw Counted(alive); });
  class Broken final : public Executor {
    int concurrency() const override { return 2; }
    void run(int, const std::function<void()>& body) override {
      body();
      throw Thrown("the executor");
    }
  } broken;
  class Deaf final : public Progress {
    bool advance(std::int64_t, std::int64_t) override { throw Thrown("the progress"); }
  } deaf;
  Workspace workspace;
  for (const ProblemRecipe& recipe : {recipe_of(2, 9000), recipe_of(100, 300)}) {
    const Drawn drawn(recipe);
    const Observed expected = drawn.run({.threads = 1});
    const auto throws = [&](const AttentionProblem& problem, const AttentionOptions& options) {
      Observed got = drawn.blank();
      int caught = 0;
      try {
        attention(problem, got.out.mutable_view(), got.request(drawn.observations), options);
      } catch (const Thrown&) {
        ++caught;
      }
      EXPECT_EQ(caught, 1);
      EXPECT_EQ(alive, 0);
      EXPECT_EQ(drawn.run({.workspace = &workspace}).difference(expected), "");
    };
    LateThreads late(3);
    for (const AttentionOptions& options : {AttentionOptions{.threads = 1, .workspace = &workspace},
                                            {.threads = 2, .workspace = &workspace},
                                            {.executor = &late, .workspace = &workspace}}) {
      AttentionProblem problem = drawn.problem();
      problem.score_function = &score;
      throws(problem, options);
      problem.score_function = nullptr;
      problem.mask_function = &mask;
      throws(problem, options);
      problem.mask_function = &summary;
      throws(problem, options);
      AttentionOptions watched = options;
      watched.progress = &deaf;
      throws(drawn.problem(), watched);
    }
    throws(drawn.problem(), {.executor = &broken, .workspace = &workspace});
  }
}

// Pieces that are done, checked as they come.
class Counter final : public Progress {
 public:
  explicit Counter(std::int64_t stop_at = -1) : stop_at_(stop_at) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_EQ(inside_.exchange(true), false) << "two at once";
    EXPECT_EQ(done, last_ + 1);
    EXPECT_TRUE(total_ == 0 || total == total_);
    EXPECT_FALSE(stopped_) << "called again after it said to stop";
    last_ = done;
    total_ = total;
    inside_ = false;
    stopped_ = done == stop_at_;
    return !stopped_;
  }
  std::int64_t last() const { return last_; }
  std::int64_t total() const { return total_; }

 private:
  const std::int64_t stop_at_;
  std::int64_t last_ = 0, total_ = 0;
  bool stopped_ = false;
  std::atomic<bool> inside_{false};
};

TEST(ExecutionProgress, CountsUpToAllAndMayStopAtEach) {
  Workspace workspace;
  for (const ProblemRecipe& recipe : {recipe_of(1, 9000), recipe_of(150, 200)}) {
    const Drawn drawn(recipe);
    const Observed expected = drawn.run({.threads = 1});
    LateThreads late(3);
    for (AttentionOptions options : {AttentionOptions{.threads = 1}, {.threads = 2}, {.executor = &late}}) {
      options.workspace = &workspace;
      Counter all;
      options.progress = &all;
      EXPECT_EQ(drawn.run(options).difference(expected), "");
      EXPECT_GE(all.total(), 4);
      EXPECT_EQ(all.last(), all.total());
      for (std::int64_t k = 1; k <= all.total(); ++k) {
        Counter until(k);
        options.progress = &until;
        EXPECT_THROW(drawn.run(options), Cancelled) << k;
        EXPECT_EQ(until.last(), k);
      }
      options.progress = nullptr;
      EXPECT_EQ(drawn.run(options).difference(expected), "") << "after it was cancelled";
    }
  }
}

TEST(ExecutionProgress, HearsNothingOfACallWithoutRows) {
  Counter counter;
  Drawn(recipe_of(0, 20)).run({.progress = &counter});
  EXPECT_EQ(counter.last(), 0);
}

TEST(Execution, RefusesANegativeThreadCount) {
  const Drawn drawn(recipe_of(1, 3));
  EXPECT_THROW(drawn.run({.threads = -1}), BadArgument);
  EXPECT_THROW(AttentionPlan(drawn.problem(), {}, {.threads = -1}), BadArgument);
  EXPECT_THROW((void)workspace_size(drawn.problem(), {}, {}, {.threads = -1}), BadArgument);
}

TEST(Execution, CallsFromManyThreadsAtOnce) {
  const Drawn drawn(recipe_of(60, 300));
  const Observed expected = drawn.run({.threads = 1});
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    for (int n = 0; n < 6; ++n) {
      callers.emplace_back([&, n] {
        Workspace workspace;
        LateThreads late(2);
        for (int i = 0; i < 5; ++i) {
          const AttentionOptions options{.threads = 1 + (n + i) % 3,
                                         .executor = n == 0 ? &late : nullptr,
                                         .workspace = n < 4 ? &workspace : nullptr};
          wrong += !drawn.run(options).difference(expected).empty();
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

// A function of the caller's that calls the library again.
TEST(Execution, CallsWithinCalls) {
  const Drawn inner(recipe_of(3, 50)), outer(recipe_of(100, 64));
  const Observed expected = inner.run({.threads = 1});
  for (const int threads : {1, 2, 3}) {
    std::atomic<int> calls{0}, wrong{0};
    class Calling final : public ScoreFunction {
     public:
      explicit Calling(std::function<void()> call) : call_(std::move(call)) {}
      void apply(const ScoreTile&) const override { call_(); }

     private:
      std::function<void()> call_;
    } calling([&] {
      ++calls;
      wrong += !inner.run({.threads = threads}).difference(expected).empty();
    });
    AttentionProblem problem = outer.problem();
    problem.score_function = &calling;
    Observed got = outer.blank();
    attention(problem, got.out.mutable_view(), got.request(outer.observations), {.threads = threads});
    EXPECT_GT(calls, 8);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(got.difference(outer.run({.threads = 1})), "");
  }
}

TEST(ExecutionWorkspace, ServesOneCallAtATime) {
  const Drawn drawn(recipe_of(3, 50));
  Workspace workspace;
  class Again final : public ScoreFunction {
   public:
    Again(const Drawn& drawn, Workspace& workspace) : drawn_(drawn), workspace_(workspace) {}
    void apply(const ScoreTile&) const override {
      EXPECT_THROW(drawn_.run({.workspace = &workspace_}), BadArgument);
      EXPECT_THROW(workspace_.reserve(1), BadArgument);
    }

   private:
    const Drawn& drawn_;
    Workspace& workspace_;
  } again(drawn, workspace);
  AttentionProblem problem = drawn.problem();
  problem.score_function = &again;
  Observed got = drawn.blank();
  attention(problem, got.out.mutable_view(), {}, {.threads = 1, .workspace = &workspace});
  EXPECT_NO_THROW(drawn.run({.workspace = &workspace}));
}

// Refused problems leave it free.
TEST(ExecutionWorkspace, OutlivesRefusals) {
  const Drawn drawn(recipe_of(3, 50));
  Workspace workspace;
  AttentionProblem bad = drawn.problem();
  bad.window_left = -7;
  EXPECT_THROW(attention(bad, {}, {}, {.workspace = &workspace}), BadArgument);
  EXPECT_EQ(drawn.run({.workspace = &workspace}).difference(drawn.run({})), "");
}

// The parent has threads; the child, which has none of them, asks for two.
TEST(Execution, GoesOnAfterFork) {
#ifndef __x86_64__
  GTEST_SKIP() << "an emulator's own locks do not outlive a fork of a program with threads";
#endif
  const Drawn drawn(recipe_of(100, 300));
  const Observed expected = drawn.run({.threads = 2});
  for (int n = 0; n < 3; ++n) {
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      LateThreads late(2);
      const bool same = drawn.run({.threads = 2}).difference(expected).empty() &&
                        drawn.run({.executor = &late}).difference(expected).empty();
      std::_Exit(same ? 0 : 1);  // in exit() oneTBB's own end may fail, since its threads are not there
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    EXPECT_EQ(drawn.run({.threads = 2}).difference(expected), "") << "the parent goes on too";
  }
}

}  // namespace
}  // namespace sightline::testing
