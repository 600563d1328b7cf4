#include "src/engine/memory_plan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "sightline/error.h"

namespace sightline::engine {
namespace {

using Path = std::filesystem::path;
using Bytes = std::optional<std::int64_t>;

// The number at the front of a text; nothing for "max" and the like.
Bytes leading_number(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return error == std::errc() ? Bytes(number) : std::nullopt;
}

// A small file of the kernel's, whole; nothing where it cannot be read. Not by a stream: those keep an exception to
// themselves where memory runs out.
std::optional<std::string> content_of(const Path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char content[1 << 14];
  std::size_t size = 0;
  for (ssize_t got = 0; size < sizeof content && (got = read(file, content + size, sizeof content - size)) > 0;) {
    size += static_cast<std::size_t>(got);
  }
  close(file);
  return std::string(content, size);
}

// Takes a line off the front of `text`; nothing at its end.
std::optional<std::string_view> take_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

Bytes number_in(const Path& file) {
  const auto content = content_of(file);
  return content ? leading_number(*content) : std::nullopt;
}

// The number after `key` in a file of lines as "MemAvailable:  123 kB" or "inactive_file 123".
Bytes number_after(const Path& file, std::string_view key) {
  const auto content = content_of(file);
  std::string_view rest = content ? std::string_view(*content) : std::string_view();
  while (const auto line = take_line(rest)) {
    if (line->starts_with(key)) return leading_number(line->substr(key.size()));
  }
  return std::nullopt;
}

Bytes kernel_says(const Path& root) {
  const Bytes kilobytes = number_after(root / "proc/meminfo", "MemAvailable:");
  return kilobytes ? Bytes(*kilobytes * 1024) : std::nullopt;
}

Bytes smaller(Bytes a, Bytes b) { return !a ? b : !b ? a : std::min(*a, *b); }

// What a control group leaves: its limit less what is used, files in the page cache not counted, as they give way.
Bytes left_in_group(const Path& limit_file, const Path& usage_file, const Path& stat_file, const char* files_prefix) {
  const Bytes limit = number_in(limit_file), usage = number_in(usage_file);
  if (!limit || !usage) return std::nullopt;
  const std::string prefix = files_prefix;
  const std::int64_t inactive = number_after(stat_file, prefix + "inactive_file ").value_or(0);
  const std::int64_t active = number_after(stat_file, prefix + "active_file ").value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *usage - inactive - active));
}

// A group and those above it. `group`: its path within the hierarchy mounted at `mount`, which a container may have
// mounted so that the group is its root.
template <class Left>
Bytes left_in_groups(const Path& mount, const std::string& group, const Left& left) {
  Bytes least = left(mount);
  Path folder = mount;
  for (const Path& part : Path(group).relative_path()) {
    folder /= part;
    least = smaller(least, left(folder));
  }
  return least;
}

Bytes groups_say(const Path& root) {
  const Path mounts = root / "sys/fs/cgroup";
  const auto left_v2 = [](const Path& at) {
    return left_in_group(at / "memory.max", at / "memory.current", at / "memory.stat", "");
  };
  const auto left_v1 = [](const Path& at) {
    return left_in_group(at / "memory.limit_in_bytes", at / "memory.usage_in_bytes", at / "memory.stat", "total_");
  };
  Bytes least;
  const std::string groups = content_of(root / "proc/self/cgroup").value_or("");
  std::string_view rest = groups;
  while (const auto next = take_line(rest)) {  // "0::/path", "9:memory:/path"
    const std::string line(*next);
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",", group = line.substr(second + 1);
    if (kinds == ",,") least = smaller(least, left_in_groups(mounts, group, left_v2));
    if (kinds.find(",memory,") != std::string::npos) {
      least = smaller(least, left_in_groups(mounts / "memory", group, left_v1));
    }
  }
  return least;
}

}  // namespace

std::optional<std::int64_t> available_memory(const Path& root) { return smaller(kernel_says(root), groups_say(root)); }

std::string memory_text(std::int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  return number < 0.9995e9 ? fmt::format("{:.0f} MB", number / 1e6) : fmt::format("{:.1f} GB", number / 1e9);
}

void require_memory(const MemoryPlan& plan, std::optional<std::int64_t> available, std::string_view advice) {
  if (!available || plan.total() <= *available) return;
  std::string parts = fmt::format("weights {} mapped", memory_text(plan.weights));
  if (plan.kept > 0) parts += fmt::format(", what is kept {}", memory_text(plan.kept));
  if (plan.workspace > 0) parts += fmt::format(", the pass {}", memory_text(plan.workspace));
  throw OutOfMemory(fmt::format("this needs {}: {}; {} are available: {}", memory_text(plan.total()), parts,
                                memory_text(*available), advice));
}

}  // namespace sightline::engine
