#include "src/engine/hub_cache.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>

#include "sightline/error.h"
#include "src/format/file.h"

namespace sightline::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "models--", kJoin = "--";
constexpr std::size_t kMaxName = 96, kMaxRef = 4096;  // bytes

// A path that a variable names; ~ is the home directory, as the libraries have it. Empty is not set.
std::optional<fs::path> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string_view text = value;
  const char* home = std::getenv("HOME");
  if (home == nullptr || (text != "~" && !text.starts_with("~/"))) return fs::path(text);
  return fs::path(home) / text.substr(std::min<std::size_t>(text.size(), 2));
}

// Letters, digits and - _ . within, as the hub allows.
bool is_part(std::string_view text) {
  const auto edge = [](char c) { return c == '.' || c == '-'; };
  if (text.empty() || edge(text.front()) || edge(text.back())) return false;
  if (text.find("--") != text.npos || text.find("..") != text.npos) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Whether a name ends as that of a later part of a split model: -00002-of-00003.gguf.
bool is_later_part(std::string_view name) {
  constexpr std::string_view kForm = "-00000-of-00000.gguf";
  if (name.size() < kForm.size()) return false;
  name.remove_prefix(name.size() - kForm.size());
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (kForm[i] == '0' ? !digit : name[i] != kForm[i]) return false;
  }
  return name.substr(1, 5) != "00001";
}

bool is_read(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".gguf") || name == "config.json" || name == "tokenizer.json";
}

}  // namespace

std::optional<HubName> parse_hub_name(std::string_view text) {
  if (text.size() > kMaxName * 3) return std::nullopt;
  const std::size_t first = text.find('/');
  const std::size_t second = first == text.npos ? text.npos : text.find('/', first + 1);
  const std::string_view repository = text.substr(0, second);
  if (repository.size() > kMaxName) return std::nullopt;
  if (!is_part(repository.substr(0, first)) || (first != text.npos && !is_part(repository.substr(first + 1)))) {
    return std::nullopt;
  }
  if (second == text.npos) return HubName{std::string(repository), {}};
  const fs::path file = text.substr(second + 1);
  const bool leaves = std::any_of(file.begin(), file.end(), [](const fs::path& part) { return part == ".."; });
  if (file.empty() || file.is_absolute() || leaves) return std::nullopt;
  return HubName{std::string(repository), file.string()};
}

std::optional<fs::path> hub_cache_directory() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto path = variable(name)) return path;
  }
  if (const auto home = variable("HF_HOME")) return *home / "hub";
  if (const auto cache = variable("XDG_CACHE_HOME")) return *cache / "huggingface" / "hub";
  if (const auto home = variable("HOME")) return *home / ".cache" / "huggingface" / "hub";
  return std::nullopt;
}

std::optional<fs::path> find_snapshot(const fs::path& hub, const std::string& repository) {
  std::string folder(kPrefix);
  for (const char c : repository) folder += c == '/' ? std::string(kJoin) : std::string(1, c);
  const fs::path snapshots = hub / folder / "snapshots";
  try {
    std::string commit = format::read_regular_file(hub / folder / "refs" / "main", kMaxRef);
    commit.erase(commit.find_last_not_of(" \r\n\t") + 1);
    if (is_part(commit) && format::is_directory(snapshots / commit)) return snapshots / commit;
  } catch (const BadFile&) {  // there is none
  }
  std::vector<fs::path> found = entries(snapshots);
  std::erase_if(found, [](const fs::path& path) { return !format::is_directory(path); });
  if (found.size() != 1) return std::nullopt;
  return found.front();
}

DirectoryContent inspect_directory(const fs::path& directory) {
  DirectoryContent content;
  content.config = format::is_present(directory / "config.json");
  content.tokenizer = format::is_present(directory / "tokenizer.json");
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    content.weights = content.weights || format::is_present(directory / name);
  }
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (content.pickle.empty() && format::is_present(directory / name)) content.pickle = name;
  }
  for (const fs::path& path : entries(directory)) {
    const std::string name = path.filename().string();
    if (name.ends_with(".gguf") && !is_later_part(name) && format::is_present(path) && !format::is_directory(path)) {
      content.gguf.push_back(name);
    }
  }
  return content;
}

std::vector<CachedModel> cached_models(const fs::path& hub) {
  std::vector<CachedModel> models;
  for (const fs::path& folder : entries(hub)) {
    std::string name = folder.filename().string();
    if (!name.starts_with(kPrefix)) continue;
    name.erase(0, kPrefix.size());
    if (const std::size_t join = name.find(kJoin); join != name.npos) name.replace(join, kJoin.size(), 1, '/');
    const auto snapshot = parse_hub_name(name) ? find_snapshot(hub, name) : std::nullopt;
    if (!snapshot) continue;
    CachedModel model{name, *snapshot, inspect_directory(*snapshot), 0};
    for (const fs::path& path : entries(*snapshot)) {
      std::error_code error;
      const std::uintmax_t size = is_read(path.filename().string()) ? fs::file_size(path, error) : 0;
      if (!error) model.bytes += size;
    }
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace sightline::engine
