// What the backward pass refuses, by name; that it leaves gradients alone that are not asked for; how a call runs and
// ends.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sightline/backward.h"
#include "sightline/error.h"

namespace sightline {
namespace {

constexpr std::int64_t kRows = 3, kKeys = 5, kWidth = 4;

// One head: every number 1, but for what a test changes.
struct Call {
  std::vector<float> numbers = std::vector<float>(64, 1.0f), written = std::vector<float>(64, -1.0f);
  AttentionProblem problem;
  ForwardResult forward;
  TensorView dout;
  Gradients gradients;

  Call() {
    problem.q = view({1, 1, kRows, kWidth});
    problem.k = problem.v = view({1, 1, kKeys, kWidth});
    dout = view({1, 1, kRows, kWidth});
    forward = {view({1, 1, kRows, kWidth}), numbers.data(), numbers.data()};
    gradients.q = dense_view(written.data(), problem.q.shape);
  }
  TensorView view(const std::array<std::int64_t, 4>& shape) const { return dense_view(numbers.data(), shape); }

  std::string refusal() const {
    try {
      attention_backward(problem, forward, dout, gradients);
    } catch (const BadArgument& error) {
      return error.what();
    }
    return "";
  }
};

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(BackwardRefusals, WhatHasNoGradient) {
  Call packed;
  packed.problem.k.dtype = packed.problem.v.dtype = DType::i8_row;
  EXPECT_TRUE(mentions(packed.refusal(), "not supported: gradients of packed keys")) << packed.refusal();

  Call paged;
  const std::int32_t table[] = {0};
  paged.problem.pages = {table, 1, kKeys, 1, 0, 0};
  EXPECT_TRUE(mentions(paged.refusal(), "not supported: gradients of keys and values in pages")) << paged.refusal();

  Call scored;
  const auto twice = score_function([](float score, const ScorePair&) { return 2 * score; });
  scored.problem.score_function = &twice;
  EXPECT_TRUE(mentions(scored.refusal(), "not supported: gradients through a score function")) << scored.refusal();
}

TEST(BackwardRefusals, GradientsOfWhatTheProblemDoesNotHave) {
  Call bias;
  bias.gradients.bias = dense_view(bias.written.data(), {1, 1, kRows, kKeys});
  EXPECT_TRUE(mentions(bias.refusal(), "gradient of bias")) << bias.refusal();
  Call sinks;
  sinks.gradients.sinks = sinks.written.data();
  EXPECT_TRUE(mentions(sinks.refusal(), "gradient of sinks")) << sinks.refusal();
  Call slopes;
  slopes.gradients.alibi_slopes = slopes.written.data();
  EXPECT_TRUE(mentions(slopes.refusal(), "gradient of alibi_slopes")) << slopes.refusal();
  Call relative;
  relative.gradients.relative_bias = relative.written.data();
  EXPECT_TRUE(mentions(relative.refusal(), "gradient of relative_bias")) << relative.refusal();
}

TEST(BackwardRefusals, ShapesAndTypesThatDoNotFit) {
  Call dout;
  dout.dout.shape[2] = kRows + 1;
  EXPECT_TRUE(mentions(dout.refusal(), "dout")) << dout.refusal();
  Call out;
  out.forward.out.data = nullptr;
  EXPECT_TRUE(mentions(out.refusal(), "output of the forward pass")) << out.refusal();
  Call state;
  state.forward.row_sum = nullptr;
  EXPECT_TRUE(mentions(state.refusal(), "row_sum")) << state.refusal();
  Call shape;
  shape.gradients.q.shape[3] = 1;
  EXPECT_TRUE(mentions(shape.refusal(), "gradient of q")) << shape.refusal();
  Call shared;
  shared.gradients.q.strides[2] = 0;
  EXPECT_TRUE(mentions(shared.refusal(), "share memory")) << shared.refusal();
  Call type;
  type.gradients.q.dtype = DType::f16;
  EXPECT_TRUE(mentions(type.refusal(), "gradient of q that is not f32")) << type.refusal();
}

TEST(BackwardRefusals, NothingIsWrittenThatIsNotAskedFor) {
  Call nothing;
  nothing.gradients = {};
  EXPECT_EQ(nothing.refusal(), "");
  EXPECT_EQ(nothing.written, std::vector<float>(64, -1.0f));
  Call only_q;
  EXPECT_EQ(only_q.refusal(), "");
  for (std::size_t i = 0; i < only_q.written.size(); ++i) {
    EXPECT_EQ(only_q.written[i] == -1.0f, i >= kRows * kWidth) << i;
  }
}

// Twelve heads that share the gradient of a bias, and so wait for one another.
struct ManyHeads {
  const std::array<std::int64_t, 4> shape{1, 12, 60, 4};
  std::vector<float> numbers = std::vector<float>(12 * 60 * 4, 0.5f), bias = std::vector<float>(60 * 60);
  std::vector<float> dbias = std::vector<float>(60 * 60);
  AttentionProblem problem;

  ManyHeads() {
    problem.q = problem.k = problem.v = all();
    problem.bias = dense_view(bias.data(), {1, 1, 60, 60});
  }
  TensorView all() const { return dense_view(numbers.data(), shape); }
  void run(const AttentionOptions& options) {
    Gradients gradients;
    gradients.bias = dense_view(dbias.data(), problem.bias.shape);
    attention_backward(problem, {all(), numbers.data(), numbers.data()}, all(), gradients, options);
  }
};

TEST(BackwardCalls, WhatAMaskFunctionThrowsEndsEveryThread) {
  struct Fault {};
  const auto faulty = mask_function([](const ScorePair& pair) {
    if (pair.head == 3) throw Fault();
    return true;
  });
  ManyHeads many;
  many.problem.mask_function = &faulty;
  for (const int threads : {1, 2, 5}) EXPECT_THROW(many.run({threads}), Fault);
}

struct CountedProgress final : Progress {
  bool advance(std::int64_t now, std::int64_t of) override {
    EXPECT_EQ(now, done + 1);
    done = now;
    total = of;
    return now < stop_at;
  }
  std::int64_t done = 0, total = 0, stop_at = INT64_MAX;
};

TEST(BackwardCalls, ProgressReachesItsEndAndStops) {
  for (const int threads : {1, 3}) {
    ManyHeads many;
    CountedProgress to_the_end;
    AttentionOptions options{threads};
    options.progress = &to_the_end;
    many.run(options);
    EXPECT_EQ(to_the_end.done, to_the_end.total);
    EXPECT_EQ(to_the_end.total, 12);
    CountedProgress stopped;
    stopped.stop_at = 4;
    options.progress = &stopped;
    EXPECT_THROW(many.run(options), Cancelled);
  }
}

// An executor whose bodies run one after the other: none may wait for one that has not begun.
struct OneAfterTheOther final : Executor {
  int concurrency() const override { return 4; }
  void run(int count, const std::function<void()>& body) override {
    for (int i = 0; i < count; ++i) body();
  }
};

TEST(BackwardCalls, TheCallersThreads) {
  ManyHeads own, callers;
  own.run({2});
  OneAfterTheOther executor;
  AttentionOptions options;
  options.executor = &executor;
  callers.run(options);
  EXPECT_EQ(callers.dbias, own.dbias);
}

TEST(BackwardCalls, WorkspacesAndStatesAreRefused) {
  ManyHeads many;
  Workspace workspace;
  AttentionOptions options;
  options.workspace = &workspace;
  EXPECT_THROW(many.run(options), BadArgument);
}

// Keys before position 0 are padding: their gradients are 0, and written.
TEST(BackwardPadding, GradientsOfPaddingAreZero) {
  for (const std::int64_t padding : {std::int64_t{2}, kKeys, std::int64_t{70}}) {
    Call call;
    const SequenceSpan span{kKeys, -padding, {}};
    call.problem.sequences = {&span, 1};
    std::vector<float> dk(kKeys * kWidth, 777), dv(kKeys * kWidth, 777);
    call.gradients.k = dense_view(dk.data(), call.problem.k.shape);
    call.gradients.v = dense_view(dv.data(), call.problem.v.shape);
    ASSERT_EQ(call.refusal(), "");
    for (std::int64_t i = 0; i < kKeys * kWidth; ++i) {
      if (i < padding * kWidth) {
        EXPECT_EQ(dk[i], 0) << padding << " " << i;
        EXPECT_EQ(dv[i], 0) << padding << " " << i;
      }
      EXPECT_NE(dv[i], 777) << padding << " " << i;
    }
  }
}

}  // namespace
}  // namespace sightline
