#ifndef SIGHTLINE_ENGINE_TESTING_H_
#define SIGHTLINE_ENGINE_TESTING_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

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

/// Where all-MiniLM-L6-v2 is, or should be.
inline std::filesystem::path minilm() {
  const char* named = std::getenv("SIGHTLINE_MINILM");
  return named ? std::filesystem::path(named) : default_model_directory();
}
inline bool has_minilm() { return std::filesystem::exists(minilm() / "model.safetensors"); }
inline std::string no_minilm() { return "all-MiniLM-L6-v2 is not in " + minilm().string(); }

}  // namespace sightline::engine::testing

#endif  // SIGHTLINE_ENGINE_TESTING_H_
