#ifndef SIGHTLINE_TOOLS_CONFORM_SUITES_H_
#define SIGHTLINE_TOOLS_CONFORM_SUITES_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/conform/engine.h"
#include "tools/conform/recorder.h"

namespace sightline::conform {

/// What every suite is given.
struct Context {
  Recorder& recorder;
  std::vector<Engine> engines;  // attention cases pass when they pass on all of them

  /// Runs `body` on each engine; a mismatch then says on which.
  void on_each_engine(const std::function<void(const Engine&)>& body) const;
};

/// Each runs what the index (or file) at `path` lists, as cases named `prefix`/...
void run_attention_grid(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_attention_onnx(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_attention_backward(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_models(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_gguf(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_left_padding(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_long_text(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_minilm(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_tokenizers(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_chat_templates(Context& context, const std::filesystem::path& index, const std::string& prefix);
void run_reports(Context& context, const std::filesystem::path& file, const std::string& prefix);

/// Runs whatever is in `directory` and the folders below it; where that is nothing, the part of a parent folder's index
/// that `directory` holds. False if there is nothing to run.
bool run_directory(Context& context, const std::filesystem::path& directory);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_SUITES_H_
