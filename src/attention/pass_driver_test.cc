// How a pass is cut into pieces. That the bits are those of one thread is tested for all problems in tests/attention.

#include "src/attention/pass_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "sightline/attention.h"

namespace sightline {
namespace {

class Pieces final : public Progress {
 public:
  bool advance(std::int64_t, std::int64_t total) override {
    count = total;
    return true;
  }
  std::int64_t count = 0;
};

// So many threads as far as a call can tell.
class Claimed final : public Executor {
 public:
  explicit Claimed(int threads) : threads_(threads) {}
  int concurrency() const override { return threads_; }
  void run(int, const std::function<void()>& body) override { body(); }

 private:
  int threads_;
};

// Decoding of sequences with so many keys each, two query heads on one of keys.
struct Batch {
  static constexpr std::int64_t kWidth = 16;
  std::int64_t most;
  std::vector<SequenceSpan> spans;
  std::vector<float> q, k, v;
  AttentionProblem problem;

  explicit Batch(const std::vector<std::int64_t>& keys) : most(*std::max_element(keys.begin(), keys.end())) {
    const auto batch = static_cast<std::int64_t>(keys.size());
    for (const std::int64_t count : keys) spans.push_back({.key_count = count});
    q.resize(batch * 2 * kWidth);
    k.resize(most * kWidth);
    v.resize(most * kWidth);
    float number = 0;
    for (auto* numbers : {&q, &k, &v}) {
      for (float& x : *numbers) x = (number = number > 1 ? number - 1.9f : number + 0.37f);
    }
    problem.q = dense_view(q.data(), {batch, 2, 1, kWidth});
    problem.k = {k.data(), DType::f32, {batch, 1, most, kWidth}, {0, 0, kWidth, 1}};  // the same keys for all
    problem.v = {v.data(), DType::f32, {batch, 1, most, kWidth}, {0, 0, kWidth, 1}};
    problem.sequences = spans;
  }

  std::vector<float> run(int threads, Pieces& pieces, bool with_mass) const {
    std::vector<float> out(q.size()), mass(2 * spans.size() * most);
    Claimed workers(threads);
    Observations see;
    if (with_mass) see.key_mass = mass.data();
    attention(problem, dense_view(out.data(), problem.q.shape), see, {.executor = &workers, .progress = &pieces});
    out.insert(out.end(), mass.begin(), mass.end());
    return out;
  }
};

// 20000 keys are five chunks of 4096.
TEST(Pass, SplitsWhatIsLongerThanAThreadsShare) {
  std::vector<std::int64_t> ragged(31, 100);
  ragged.push_back(20000);
  const std::vector<std::int64_t> even(32, 5000), single = {20000};
  struct Case {
    const std::vector<std::int64_t>& keys;
    int threads;
    std::int64_t pieces;
  };
  for (const auto& [keys, threads, expected] :
       {Case{ragged, 1, 32}, Case{ragged, 2, 31 + 5}, Case{ragged, 8, 31 + 5}, Case{even, 2, 32}, Case{even, 16, 32},
        Case{even, 17, 2 * 32}, Case{single, 1, 1}, Case{single, 2, 5}}) {
    for (const bool with_mass : {false, true}) {
      const Batch batch(keys);
      Pieces one, pieces;
      const std::vector<float> alone = batch.run(1, one, with_mass);
      EXPECT_EQ(batch.run(threads, pieces, with_mass), alone);
      EXPECT_EQ(pieces.count, expected) << keys.size() << " sequences, " << threads << " threads";
    }
  }
}

// A window leaves little of a long row: no more than of its neighbours.
TEST(Pass, CountsTheKeysThatAreSeen) {
  std::vector<std::int64_t> ragged(31, 5000);
  ragged.push_back(20000);
  Batch batch(ragged);
  batch.problem.window_left = 4999;
  Pieces pieces;
  batch.run(4, pieces, false);
  EXPECT_EQ(pieces.count, 32);
}

// The state of a chunk is sums, maxima, and twice the output: of the chunk and of what came before.
TEST(Pass, KeepsOfAChunkItsStateAlone) {
  const float numbers[128] = {};
  const auto size = [&](std::int64_t chunks) {
    AttentionProblem problem;
    problem.q = dense_view(numbers, {1, 1, 1, 128});
    problem.k = problem.v = {numbers, DType::f32, {1, 1, 4096 * chunks, 128}, {0, 0, 0, 1}};
    float out[128];
    Claimed workers(4);
    return static_cast<std::int64_t>(
        workspace_size(problem, dense_view(out, {1, 1, 1, 128}), {}, {.executor = &workers}));
  };
  const std::int64_t state = (2 * 128 + 10) * 16 * 4;
  EXPECT_LT((size(300) - size(100)) / 200, state + 2048) << "with the list of its buffers";
}

}  // namespace
}  // namespace sightline
