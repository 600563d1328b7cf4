#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/painter.h"
#include "cli/streams.h"
#include "cli/tools.h"
#include "src/engine/hub_cache.h"
#include "src/engine/model_location.h"
#include "src/format/file.h"
#include "src/format/json.h"

namespace sightline::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kTable = "models/models.json";

// A model that is to be had as a Python package.
struct Packaged {
  std::string name, about, licence, package, version, sha256;
  std::int64_t bytes = 0;  // of the package
  fs::path place;
  bool there = false;
};

std::vector<Packaged> packaged_models() {
  const fs::path table = tool_path(kTable);
  const nlohmann::json root = format::read_json(table);
  const format::JsonObject object(root, table.string());
  const fs::path cache = engine::cache_directory();
  std::vector<Packaged> models;
  for (const nlohmann::json& item : object.require_array("models")) {
    const format::JsonObject entry(item, table.string(), "models");
    Packaged model{entry.require_string("name"),    entry.require_string("about"),
                   entry.require_string("licence"), entry.require_string("package"),
                   entry.require_string("version"), entry.require_string("sha256"),
                   entry.require_int("bytes", 1),   cache / entry.require_string("name")};
    model.there = format::is_present(model.place);
    models.push_back(std::move(model));
  }
  return models;
}

std::string megabytes(double bytes) { return fmt::format("{:.{}f} MB", bytes / 1e6, bytes < 1e7 ? 1 : 0); }

// What of a cached model can be opened, or what keeps it from that.
std::string state_of(const engine::DirectoryContent& content) {
  if (content.config && content.weights) return content.tokenizer ? "safetensors" : "safetensors, no tokenizer.json";
  if (!content.config && !content.gguf.empty()) return fmt::format("GGUF, {} files", content.gguf.size());
  if (content.config && !content.pickle.empty()) return "torch pickles: sightline import";
  return content.config ? "not whole: no weights" : "not whole: no config.json";
}

class ModelsView {
 public:
  explicit ModelsView(Painter& painter) : painter_(painter) {}

  void add(const Packaged& model) {
    painter_.accent(shown(model.name)).newline();
    painter_.text("  " + shown(model.about)).newline();
    line("licence", model.licence);
    line("package", fmt::format("{} {}, {}", model.package, model.version, megabytes(double(model.bytes))));
    line("SHA-256", model.sha256);
    line("place", model.place.string());
    line("", model.there ? "there" : fmt::format("not there: sightline pull {}", model.name));
  }

  void add(const std::vector<engine::CachedModel>& models, const fs::path& hub) {
    painter_.newline().accent("In the cache of Hugging Face").soft("  " + shown(hub.string())).newline();
    if (models.empty()) painter_.text("  none").newline();
    std::size_t widest = 0;
    for (const engine::CachedModel& model : models) widest = std::max(widest, model.name.size());
    for (const engine::CachedModel& model : models) {
      painter_.text(fmt::format("  {:{}}  {:>9}  {}", shown(model.name), widest, megabytes(double(model.bytes)),
                                state_of(model.content)));
      painter_.newline();
    }
  }

 private:
  std::string shown(std::string_view text) const { return displayable(text, painter_.terminal().utf8); }
  void line(std::string_view name, std::string_view value) {
    painter_.soft("  " + pad_right(name, 9, painter_.terminal().utf8)).text(shown(value)).newline();
  }

  Painter& painter_;
};

ordered_json json_of(const Packaged& model) {
  return {{"name", model.name},       {"about", model.about},          {"licence", model.licence},
          {"package", model.package}, {"version", model.version},      {"bytes", model.bytes},
          {"sha256", model.sha256},   {"place", model.place.string()}, {"there", model.there}};
}

ordered_json json_of(const engine::CachedModel& model) {
  return {{"name", model.name},
          {"place", model.path.string()},
          {"bytes", model.bytes},
          {"config", model.content.config},
          {"tokenizer", model.content.tokenizer},
          {"safetensors", model.content.weights},
          {"gguf", model.content.gguf},
          {"pickle", model.content.pickle}};
}

template <class T>
ordered_json list_of(const std::vector<T>& models) {
  ordered_json list = ordered_json::array();
  for (const T& model : models) list.push_back(json_of(model));
  return list;
}

}  // namespace

void run_models(const Options& options) {
  const std::vector<Packaged> packages = packaged_models();
  const auto hub = engine::hub_cache_directory();
  const std::vector<engine::CachedModel> cached =
      hub ? engine::cached_models(*hub) : std::vector<engine::CachedModel>();
  if (options.json) {
    const ordered_json all = {{"packages", list_of(packages)},
                              {"hugging_face", {{"cache", hub ? hub->string() : ""}, {"models", list_of(cached)}}}};
    write_output(all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
    return;
  }
  Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
  ModelsView view(painter);
  for (const Packaged& model : packages) view.add(model);
  if (hub) view.add(cached, *hub);
  write_output(painter.result());
}

void run_pull(const Options& options) { become_tool("models/pull.py", {options.model}); }

void run_import(const Options& options) {
  std::vector<std::string> arguments = {options.source, options.output};
  if (!options.tokenizer.empty()) arguments.insert(arguments.end(), {"--tokenizer", options.tokenizer});
  become_tool("import/import_model.py", arguments);
}

}  // namespace sightline::cli
