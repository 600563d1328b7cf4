#ifndef SIGHTLINE_ENGINE_TESTING_H_
#define SIGHTLINE_ENGINE_TESTING_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/engine/capture.h"
#include "src/engine/look_data.h"
#include "src/engine/session.h"
#include "src/format/file.h"
#include "src/format/safetensors.h"

namespace sightline::engine::testing {

inline constexpr char kTired[] = "The animal didn't cross the street because it was too tired.";
inline constexpr char kWide[] = "The animal didn't cross the street because it was too wide.";

inline std::filesystem::path source_path(const std::string& relative) {
  return std::filesystem::path(SIGHTLINE_SOURCE_DIR) / relative;
}

/// A place of this process's own: tests run beside one another.
inline std::filesystem::path temporary_path(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("sightline-engine-" + std::to_string(::getpid()) + "-" + name);
}

/// A random BERT: 2 layers, 3 heads, D 8, 48 positions (tools/make_tiny_model.py).
inline std::filesystem::path tiny_model() { return source_path("tests/data/tiny-bert"); }

/// Writes the tiny model into a new directory with `positions` (over 48) positions; those added are all zero.
inline void write_long_model(const std::filesystem::path& directory, std::int64_t positions) {
  std::filesystem::copy(tiny_model(), directory);
  const std::filesystem::path config = directory / "config.json";
  std::string text = format::read_file(config, 1 << 20);
  const std::string_view limit = "\"max_position_embeddings\": 48";
  text.replace(text.find(limit), limit.size(), "\"max_position_embeddings\": " + std::to_string(positions));
  std::ofstream(config) << text;

  const auto model = format::SafetensorsFile::open(tiny_model() / "model.safetensors");
  auto tensors = model.tensors();
  format::Tensor& table = tensors.at("embeddings.position_embeddings.weight");
  table.shape[0] = positions;
  std::vector<std::byte> longer(table.bytes.begin(), table.bytes.end());
  longer.resize(longer.size() / 48 * static_cast<std::size_t>(positions));
  table.bytes = longer;
  format::SafetensorsWriter file(directory / "model.safetensors");
  for (const auto& [name, tensor] : tensors) file.declare(name, tensor.dtype, tensor.shape);
  for (const auto& [name, tensor] : tensors) file.write(name, tensor.bytes);
  file.finish();
}

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
    Capture capture({segments, {}, 6, threads, &progress});
    const model::LayerAttention call{model::AttentionKind::self, 0, 0, problem};
    const Observations see = capture.request(call);
    attention(problem, {}, see, {.threads = threads});
    capture.done(call);
    const auto data = std::make_shared<Look::Data>();
    data->threads = threads;
    data->tokens.resize(segments.size());
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

/// Where all-MiniLM-L6-v2 is, or should be.
inline std::filesystem::path minilm() {
  const char* named = std::getenv("SIGHTLINE_MINILM");
  return named ? std::filesystem::path(named) : default_model_directory();
}
inline bool has_minilm() { return std::filesystem::exists(minilm() / "model.safetensors"); }
inline std::string no_minilm() { return "all-MiniLM-L6-v2 is not in " + minilm().string(); }

}  // namespace sightline::engine::testing

#endif  // SIGHTLINE_ENGINE_TESTING_H_
