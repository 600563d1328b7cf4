#ifndef SIGHTLINE_TOOLS_CONFORM_PEAK_MEMORY_H_
#define SIGHTLINE_TOOLS_CONFORM_PEAK_MEMORY_H_

#include <cstdint>
#include <functional>
#include <optional>

namespace sightline::conform {

/// Runs `action` and gives by how many bytes its resident memory grew at its peak; nothing where the system does not
/// let a process reset its peak (Linux: /proc/self/clear_refs).
std::optional<std::int64_t> peak_memory(const std::function<void()>& action);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_PEAK_MEMORY_H_
