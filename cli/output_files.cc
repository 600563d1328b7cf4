#include "cli/output_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

namespace fs = std::filesystem;

bool is_device(const std::string& path) {
  std::error_code ignored;
  return fs::is_other(fs::status(path, ignored));
}

// Devices are never the same: what is written to one does not take the other's place.
bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || is_device(a) || is_device(b)) return false;
  std::error_code none, ignored;
  if (fs::equivalent(a, b, none) && !none) return true;
  const fs::path first = fs::weakly_canonical(a, ignored), second = fs::weakly_canonical(b, ignored);
  return !first.empty() && first == second;
}

}  // namespace

void require_writable(const std::vector<std::string>& written, const std::vector<std::string>& read) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::string& path = written[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(written[j], path)) {
        throw UsageError(fmt::format("{}: two outputs would be written there: give each a file of its own", path));
      }
    }
    for (const std::string& source : read) {
      if (same_file(source, path)) {
        throw UsageError(fmt::format("{}: is read, and would be written over: name another file", path));
      }
    }
    // A pipe is left alone: its reader would take the end of this for the end of the file.
    if (path.empty() || is_device(path)) continue;
    {
      const WritingScope until_gone;
      format::AtomicFile untouched(path);  // made beside it, and gone again
    }
    check_interrupt();
  }
}

}  // namespace sightline::cli
