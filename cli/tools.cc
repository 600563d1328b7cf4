#include "cli/tools.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "sightline/error.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

namespace fs = std::filesystem;

// Debian's own comes first: what its packages bring (pip, NumPy) is not in every other one that PATH may name.
constexpr const char* kPythons[] = {"/usr/bin/python3", "python3"};

}  // namespace

fs::path tool_path(const std::string& name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path places[] = {program / ".." / "tools", program / ".." / "share" / "sightline" / "tools"};
  for (const fs::path& place : places) {
    const fs::path path = (place / name).lexically_normal();
    if (format::is_present(path)) return path;
  }
  throw BadFile(fmt::format("{}: no such file: the program is neither in a build folder of its checkout nor installed",
                            (places[0] / name).lexically_normal().string()));
}

void become_tool(const std::string& name, const std::vector<std::string>& arguments) {
  const std::string path = tool_path(name).string();
  int reason = 0;
  for (const char* python : kPythons) {
    std::vector<const char*> words = {python, path.c_str()};
    for (const std::string& argument : arguments) words.push_back(argument.c_str());
    words.push_back(nullptr);
    execvp(python, const_cast<char**>(words.data()));
    reason = errno;
  }
  throw BadFile(fmt::format("Python cannot be started: {} (apt-get install -y python3)",
                            std::generic_category().message(reason)));
}

}  // namespace sightline::cli
