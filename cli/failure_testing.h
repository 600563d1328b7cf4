#ifndef SIGHTLINE_CLI_FAILURE_TESTING_H_
#define SIGHTLINE_CLI_FAILURE_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_program.h"
#include "src/engine/testing.h"

namespace sightline::cli::testing {

inline std::string tiny() { return engine::testing::tiny_model().string(); }

inline std::string tiny_decoder() { return engine::testing::source_path("tests/data/tiny-decoder").string(); }

/// A command on a model, in a UTF-8 locale unless another is named.
inline Start start_on(const std::string& command, const std::string& model, std::vector<std::string> arguments,
                      const char* locale = "C.UTF-8") {
  arguments.insert(arguments.begin(), {command, "-m", model});
  Start start;
  start.arguments = std::move(arguments);
  start.environment = {{"LC_ALL", locale}};
  return start;
}

inline Outcome run_with(std::vector<std::string> arguments, const std::string& input = "") {
  Start start;
  start.arguments = std::move(arguments);
  start.input = input;
  return run_program(start);
}

/// Status, one line that begins with the program's name and holds each of `parts`, and nothing on standard output.
inline void expect_failure(const Outcome& outcome, int status, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.status, status) << outcome.error;
  EXPECT_TRUE(outcome.output.empty()) << outcome.output;
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  EXPECT_TRUE(outcome.error.starts_with("sightline: ")) << outcome.error;
  for (const std::string& part : parts)
    EXPECT_NE(outcome.error.find(part), std::string::npos) << part << " in " << outcome.error;
}

/// A copy of the tiny model of which one file is cut, replaced or removed.
class BrokenModel {
 public:
  BrokenModel() { std::filesystem::copy(engine::testing::tiny_model(), folder_.path("model")); }
  std::string directory() const { return folder_.path("model"); }
  std::string file(const std::string& name) const { return directory() + "/" + name; }
  void remove(const std::string& name) const { std::filesystem::remove(file(name)); }
  void cut(const std::string& name) const {
    std::filesystem::resize_file(file(name), std::filesystem::file_size(file(name)) / 2);
  }
  void replace(const std::string& name, const std::string& content) const { std::ofstream(file(name)) << content; }
  /// Puts `after` in the place of `before`, which the file must hold.
  void edit(const std::string& name, const std::string& before, const std::string& after) const {
    std::string content = file_content(file(name));
    ASSERT_NE(content.find(before), std::string::npos) << before;
    replace(name, content.replace(content.find(before), before.size(), after));
  }

 private:
  TemporaryFolder folder_;
};

/// Puts a NaN in front of the weights, in the bias of the embeddings' norm: nothing after it is a number.
inline void spoil(const BrokenModel& model, float nan = std::numeric_limits<float>::quiet_NaN()) {
  std::fstream file(model.file("model.safetensors"), std::ios::binary | std::ios::in | std::ios::out);
  std::uint64_t header = 0;
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  std::string names(header, '\0');
  file.read(names.data(), static_cast<std::streamsize>(header));
  ASSERT_LT(names.find("\"embeddings.LayerNorm.bias\""), 40u) << "another tensor comes first";
  file.seekp(static_cast<std::streamoff>(sizeof header + header));
  file.write(reinterpret_cast<const char*>(&nan), sizeof nan);
}

}  // namespace sightline::cli::testing

#endif  // SIGHTLINE_CLI_FAILURE_TESTING_H_
