// What is in a folder is told by its files: an index by its keys, reports.jsonl by its name.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "src/format/json.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

namespace fs = std::filesystem;

std::string folder_name(const fs::path& file) { return fs::absolute(file).parent_path().filename().string(); }

void run_attention(Context& context, const fs::path& index, const std::string& prefix) {
  run_attention_grid(context, index, prefix);
  run_attention_onnx(context, index, prefix);
  run_attention_backward(context, index, prefix);
}

// Which suite reads an index with this key.
struct Kind {
  const char* key;
  void (*run)(Context&, const fs::path&, const std::string&);
};
constexpr Kind kKinds[] = {
    {"grid", run_attention},        {"models", run_models},           {"files", run_gguf},
    {"tokenizers", run_tokenizers}, {"batches", run_left_padding},    {"positions", run_long_text},
    {"weights_sha256", run_minilm}, {"templates", run_chat_templates}};

// Where a folder's index is in two files, the second continues the first.
bool is_index(const fs::path& name) { return name == "index.json" || name == "index_more.json"; }

void run_index(Context& context, const fs::path& index) {
  const std::string prefix = folder_name(index);
  const auto content = format::read_json(index);
  for (const Kind& kind : kKinds) {
    if (content.contains(kind.key)) return kind.run(context, index, prefix);
  }
  context.recorder.run(prefix, [&] { throw Skipped("this kind of index is not read yet"); });
}

void run_file(Context& context, const fs::path& file) {
  if (is_index(file.filename())) run_index(context, file);
  if (file.filename() == "reports.jsonl") run_reports(context, file, folder_name(file));
}

std::set<fs::path> files_below(const fs::path& directory) {
  std::set<fs::path> files;  // sorted, so that runs are alike everywhere
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const fs::path name = entry.path().filename();
    if (is_index(name) || name == "reports.jsonl") files.insert(entry.path());
  }
  return files;
}

}  // namespace

void Context::on_each_engine(const std::function<void(const Engine&)>& body) const {
  for (const Engine& engine : engines) {
    try {
      body(engine);
    } catch (const Mismatch& mismatch) {
      throw Mismatch(fmt::format("{}: {}", engine.name, mismatch.what()));
    }
  }
}

bool run_directory(Context& context, const fs::path& directory) {
  const auto files = files_below(directory);
  for (const fs::path& file : files) run_file(context, file);
  if (!files.empty()) return true;

  // attention/grid or models/bert: the index is further up, and names its cases like the folders.
  fs::path below = fs::canonical(directory);
  for (fs::path up = below.parent_path(); up != up.root_path(); up = up.parent_path()) {
    if (!fs::exists(up / "index.json")) continue;
    const Recorder::Scope scope(context.recorder, (up.filename() / fs::relative(below, up)).string() + "/");
    run_index(context, up / "index.json");
    return true;
  }
  return false;
}

}  // namespace sightline::conform
