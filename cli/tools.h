#ifndef SIGHTLINE_CLI_TOOLS_H_
#define SIGHTLINE_CLI_TOOLS_H_

#include <filesystem>
#include <string>
#include <vector>

namespace sightline::cli {

/// A file of tools/ by its path from there: beside the build folder of a checkout, or in share/sightline/ of an
/// installation. Throws BadFile where it is in neither.
std::filesystem::path tool_path(const std::string& name);

/// Becomes that Python program, with these arguments; its exit status is the program's. Throws BadFile where Python
/// cannot be started, and returns in no other way.
[[noreturn]] void become_tool(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_TOOLS_H_
