#ifndef SIGHTLINE_ENGINE_TESTING_H_
#define SIGHTLINE_ENGINE_TESTING_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "src/engine/session.h"

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

/// Where all-MiniLM-L6-v2 is, or should be.
inline std::filesystem::path minilm() {
  const char* named = std::getenv("SIGHTLINE_MINILM");
  return named ? std::filesystem::path(named) : default_model_directory();
}
inline bool has_minilm() { return std::filesystem::exists(minilm() / "model.safetensors"); }
inline std::string no_minilm() { return "all-MiniLM-L6-v2 is not in " + minilm().string(); }

}  // namespace sightline::engine::testing

#endif  // SIGHTLINE_ENGINE_TESTING_H_
