#ifndef SIGHTLINE_ENGINE_MODEL_LOCATION_H_
#define SIGHTLINE_ENGINE_MODEL_LOCATION_H_

#include <filesystem>
#include <string>

namespace sightline::engine {

/// Where a model's files are.
struct ModelLocation {
  std::filesystem::path path;  // a directory in Hugging Face layout or a GGUF file
  std::string name;            // for display: of the directory, of the file without its ending, or org/name
  bool gguf = false;
};

/// The last name of a path, also of "models/x/" and ".", which are called as their directory.
std::string last_name(const std::filesystem::path& given);

/// The model that `spec` means: a directory, a GGUF file, or ORG/NAME (or ORG/NAME/FILE.gguf) in the local cache of
/// Hugging Face, or the name of what `pull` fetched (docs/cli.md). A directory without config.json that holds one GGUF
/// file stands for that file. Nothing is fetched. Throws BadArgument that says what to name or to download, where
/// nothing or too much fits; what is in the files is seen when they are opened.
ModelLocation find_model(const std::string& spec);

/// What Sightline keeps: ${XDG_CACHE_HOME:-$HOME/.cache}/sightline. Throws BadArgument where neither variable is set.
std::filesystem::path cache_directory();
/// Where the default model is kept: all-MiniLM-L6-v2 in the cache. Throws as cache_directory().
std::filesystem::path default_model_directory();

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_MODEL_LOCATION_H_
