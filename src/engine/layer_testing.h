#ifndef SIGHTLINE_ENGINE_LAYER_TESTING_H_
#define SIGHTLINE_ENGINE_LAYER_TESTING_H_

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "src/engine/capture.h"
#include "src/engine/look_data.h"

namespace sightline::engine::testing {

/// Attention of one layer over random vectors, scores with a deviation of 1; the first and the last token are special.
struct RandomLayer {
  RandomLayer(std::int64_t heads, std::int64_t kv_heads, std::int64_t tokens, std::int64_t width)
      : q(normal(heads * tokens * width)), k(normal(kv_heads * tokens * width)), v(normal(kv_heads * tokens * width)) {
    problem.q = dense_view(std::as_const(q).data(), {1, heads, tokens, width});
    problem.k = dense_view(std::as_const(k).data(), {1, kv_heads, tokens, width});
    problem.v = dense_view(std::as_const(v).data(), {1, kv_heads, tokens, width});
    segments.assign(static_cast<std::size_t>(tokens), kSegmentText);
    segments.front() = segments.back() = kSegmentSpecial;
  }
  RandomLayer(const RandomLayer&) = delete;

  /// A look of this layer alone, recorded as that of a model is.
  Look look(int threads = 0) const {
    PassProgress progress(nullptr, 2);
    const Segments named{{"special", "text", "first"}, segments};
    Capture capture({&named, {}, 6, threads, &progress});
    const model::LayerAttention call{model::AttentionKind::self, 0, 0, problem};
    const Observations see = capture.request(call);
    attention(problem, {}, see, {.threads = threads});
    capture.done(call);
    const auto data = std::make_shared<Look::Data>();
    data->threads = threads;
    data->tokens.resize(segments.size());
    data->segments = named;
    data->layers = capture.take_layers();
    data->summaries = capture.take_summaries();
    return Look(data);
  }

  std::mt19937_64 random{1};
  std::vector<float> q, k, v;
  std::vector<std::int32_t> segments;
  AttentionProblem problem;

 private:
  std::vector<float> normal(std::int64_t count) {
    std::normal_distribution<float> draw;
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& x : numbers) x = draw(random);
    return numbers;
  }
};

}  // namespace sightline::engine::testing

#endif  // SIGHTLINE_ENGINE_LAYER_TESTING_H_
