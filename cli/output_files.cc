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

// What is written to a device does not take its place.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code missing;
  return fs::equivalent(a, b, missing) && !missing && !is_device(a);
}

}  // namespace

void require_writable(const std::vector<std::string>& written, const std::vector<std::string>& read) {
  for (const std::string& path : written) {
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
