#ifndef SIGHTLINE_ENGINE_HUB_CACHE_H_
#define SIGHTLINE_ENGINE_HUB_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::engine {

/// A model of the hub by its name ("org/name", or "name" alone), and perhaps a file of it.
struct HubName {
  std::string repository;
  std::string file;  // empty: the whole model
};
/// Nothing where the text cannot be such a name.
std::optional<HubName> parse_hub_name(std::string_view text);

/// The directory in which the Hugging Face libraries keep models: HF_HUB_CACHE, else HF_HOME/hub, else
/// XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. Nothing where none of the variables is set.
std::optional<std::filesystem::path> hub_cache_directory();

/// The files of a model as they were fetched last: the snapshot that refs/main names, or the only one there is.
std::optional<std::filesystem::path> find_snapshot(const std::filesystem::path& hub, const std::string& repository);

/// What can be opened in a directory.
struct DirectoryContent {
  bool config = false;            // config.json
  bool tokenizer = false;         // tokenizer.json
  bool weights = false;           // model.safetensors or model.safetensors.index.json
  std::string pickle;             // a file of torch pickles: weights that `sightline import` reads
  std::vector<std::string> gguf;  // files; of a model in parts the first. Sorted
};
DirectoryContent inspect_directory(const std::filesystem::path& directory);

/// A model in that cache.
struct CachedModel {
  std::string name;
  std::filesystem::path path;  // of the snapshot
  DirectoryContent content;
  std::uint64_t bytes = 0;  // of the files that are read
};
/// All of them, by name. A cache that is not there is empty.
std::vector<CachedModel> cached_models(const std::filesystem::path& hub);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_HUB_CACHE_H_
