#include "src/engine/model_location.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <system_error>
#include <vector>

#include "sightline/error.h"
#include "src/engine/hub_cache.h"
#include "src/format/file.h"
#include "src/format/gguf.h"

namespace sightline::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxListed = 12;  // files in a message

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMaxListed; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMaxListed) text += fmt::format(" and {} more", names.size() - kMaxListed);
  return text;
}

// `spec` is how the directory was named.
ModelLocation locate_directory(const fs::path& directory, const std::string& name, const std::string& spec) {
  const DirectoryContent content = inspect_directory(directory);
  if (!content.weights && !content.pickle.empty() && content.gguf.empty()) {
    throw BadArgument(fmt::format(
        "{}: its weights are torch pickles ({}), which are not opened: sightline import {} OUTDIR turns them into "
        "safetensors",
        spec, content.pickle, directory.string()));
  }
  if (content.config || content.gguf.empty()) return {directory, name, false};
  if (content.gguf.size() == 1) return {directory / content.gguf.front(), name, true};
  throw BadArgument(fmt::format("{}: {} GGUF files are there, name one as {}/FILE: {}", spec, content.gguf.size(),
                                spec.ends_with('/') ? spec.substr(0, spec.size() - 1) : spec, listed(content.gguf)));
}

ModelLocation locate_file(const fs::path& path, const std::string& name) {
  const std::string ending = path.extension().string();
  // What only claims to be a GGUF file is told of by its reader, as is what cannot be read at all.
  if (ending == ".gguf" || format::is_gguf(path)) return {path, name, true};
  if (format::is_unreadable(path)) return {path, name, true};
  if (ending == ".bin" || ending == ".pt" || ending == ".pth") {
    throw BadArgument(
        fmt::format("{}: not a model that is opened; sightline import reads llama2.c files and torch "
                    "pickles",
                    path.string()));
  }
  const char* advice = ending == ".safetensors" || ending == ".json" ? ": name its directory" : "";
  throw BadArgument(fmt::format("{}: a file that is no GGUF file{}", path.string(), advice));
}

// Of a model in the cache, whose files may have been fetched in part.
void require_whole(const std::string& repository, const fs::path& snapshot) {
  const DirectoryContent content = inspect_directory(snapshot);
  if (!content.config && !content.gguf.empty()) return;
  std::string missing, files;
  const auto miss = [&](bool there, const char* what, const char* file) {
    if (there) return;
    missing += (missing.empty() ? "" : ", ") + std::string(what);
    files += std::string(" ") + file;
  };
  miss(content.config, "config.json", "config.json");
  miss(content.weights || !content.pickle.empty(), "the weights (*.safetensors)", "--include '*.safetensors*'");
  if (missing.empty()) return;
  // Names of files and patterns do not go together in one command.
  const std::string command = files.find("--include") == files.npos || files.starts_with(" --include")
                                  ? fmt::format("hf download {}{}", repository, files)
                                  : fmt::format("hf download {}", repository);
  throw BadArgument(fmt::format("{}: {} {} not in the cache ({}); fetch with: {}", repository, missing,
                                missing.find(',') == missing.npos ? "is" : "are", snapshot.string(), command));
}

[[noreturn]] void refuse_absent(const std::string& spec, const std::optional<HubName>& name) {
  std::error_code ignored;
  if (fs::is_symlink(spec, ignored)) {
    throw BadArgument(
        fmt::format("{}: a symbolic link to {}, which is not there", spec, fs::read_symlink(spec, ignored).string()));
  }
  // A repository is not named as a file is.
  if (!name || name->repository.find('/') == std::string::npos || name->repository.ends_with(".gguf")) {
    throw BadArgument(fmt::format("{}: no such file or directory", spec));
  }
  const auto hub = hub_cache_directory();
  const std::string place = hub ? fmt::format(" ({})", hub->string()) : "";
  if (!name->file.empty()) {
    throw BadArgument(
        fmt::format("{}: no such file, and not in the cache of Hugging Face{}; fetch it with: hf download {} {}", spec,
                    place, name->repository, name->file));
  }
  throw BadArgument(fmt::format(
      "{}: no such directory, and not in the cache of Hugging Face{}; fetch config.json, tokenizer.json and the "
      "weights "
      "with: hf download {} --include '*.json' --include '*.safetensors' (or one .gguf file: hf download {} FILE.gguf)",
      spec, place, spec, spec));
}

fs::path variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// What `pull` fetched: a name without a path, in Sightline's own cache.
std::optional<fs::path> find_pulled(const std::string& spec) {
  if (fs::path(spec).filename() != spec || spec.starts_with('.')) return std::nullopt;
  const fs::path cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (cache.empty() && home.empty()) return std::nullopt;
  const fs::path directory = cache_directory() / spec;
  return inspect_directory(directory).config ? std::optional(directory) : std::nullopt;
}

ModelLocation locate_cached(const std::string& spec) {
  if (const auto pulled = find_pulled(spec)) return locate_directory(*pulled, spec, spec);
  const std::optional<HubName> name = parse_hub_name(spec);
  const auto hub = hub_cache_directory();
  const auto snapshot = name && hub ? find_snapshot(*hub, name->repository) : std::nullopt;
  if (!snapshot) refuse_absent(spec, name);
  if (!name->file.empty()) {
    const fs::path file = *snapshot / name->file;
    if (!format::is_present(file)) refuse_absent(spec, name);
    return format::is_directory(file) ? locate_directory(file, spec, spec) : locate_file(file, spec);
  }
  require_whole(name->repository, *snapshot);
  return locate_directory(*snapshot, spec, spec);
}

}  // namespace

std::string last_name(const fs::path& given) {
  std::error_code ignored;  // the working directory may have gone
  const fs::path path = (fs::current_path(ignored) / given).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

ModelLocation find_model(const std::string& spec) {
  const fs::path path = spec;
  if (!format::is_present(path)) return locate_cached(spec);
  if (format::is_directory(path)) return locate_directory(path, last_name(path), spec);
  return locate_file(path, path.stem().string());
}

fs::path cache_directory() {
  const fs::path cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (cache.empty() && home.empty()) {
    throw BadArgument("neither XDG_CACHE_HOME nor HOME is set, so the default model cannot be found: name one with -m");
  }
  return (cache.empty() ? home / ".cache" : cache) / "sightline";
}

fs::path default_model_directory() { return cache_directory() / "all-MiniLM-L6-v2"; }

}  // namespace sightline::engine
