#include "tools/conform/peak_memory.h"

#include <fstream>
#include <string>

namespace sightline::conform {
namespace {

// A line of /proc/self/status, in bytes.
std::optional<std::int64_t> status(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  }
  return {};
}

bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

}  // namespace

std::optional<std::int64_t> peak_memory(const std::function<void()>& action) {
  const bool measurable = reset_peak();
  const auto before = status("VmHWM:");
  action();
  const auto peak = status("VmHWM:");
  if (!measurable || !before || !peak) return {};
  return *peak - *before;
}

}  // namespace sightline::conform
