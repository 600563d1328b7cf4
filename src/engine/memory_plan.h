#ifndef SIGHTLINE_ENGINE_MEMORY_PLAN_H_
#define SIGHTLINE_ENGINE_MEMORY_PLAN_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sightline::engine {

/// What a model and a task will take, known before either is begun.
struct MemoryPlan {
  std::int64_t weights = 0;    // mapped from their files: they may be dropped and read again, yet every pass reads all
  std::int64_t kept = 0;       // what the look keeps, or the cache of a generation
  std::int64_t workspace = 0;  // while a pass runs

  std::int64_t total() const { return weights + kept + workspace; }
};

/// Bytes that this process may still take, its mapped files counted as free: what the kernel says is available, and
/// what the limits of its control groups (v1 or v2) leave. Nothing where the system does not say. `root`: where /proc
/// and /sys are, another place in tests.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

/// Throws OutOfMemory with all numbers, and with `advice`, where the plan needs more than is available; without a
/// number of what is available nothing is refused.
void require_memory(const MemoryPlan& plan, std::optional<std::int64_t> available, std::string_view advice);

/// "5.2 GB", "340 MB".
std::string memory_text(std::int64_t bytes);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_MEMORY_PLAN_H_
