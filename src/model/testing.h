#ifndef SIGHTLINE_MODEL_TESTING_H_
#define SIGHTLINE_MODEL_TESTING_H_

// For tests alone: checkpoints of the conformance set, as they are and written again with changes.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/transformer.h"
#include "src/format/json.h"
#include "src/format/safetensors.h"
#include "src/format/testing.h"

namespace sightline::model {

/// A part of the conformance set: the whole one beside the checkout, or what of it is in tests/data.
inline std::filesystem::path conformance(std::string_view part) {
  const std::filesystem::path source = SIGHTLINE_SOURCE_DIR, whole = source / "../shared/conformance" / part;
  return std::filesystem::exists(whole) ? whole : source / "tests/data/conformance" / part;
}

inline std::filesystem::path conformance_model(const std::string& name) {
  return std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/models" / name;
}

/// A model's entry in the index of the conformance set.
inline nlohmann::json index_entry(const std::string& model) {
  const nlohmann::json index = format::read_json(conformance("models") / "index.json");
  for (const nlohmann::json& entry : index.at("models")) {
    if (entry.at("name") == model) return entry;
  }
  throw std::runtime_error("no " + model + " in the index");
}

/// Encoders and decoders of the conformance set that are there; of one kind alone, if it is named.
inline std::vector<std::string> model_names(std::string_view kind = "") {
  std::vector<std::string> names;
  const nlohmann::json index = format::read_json(conformance("models") / "index.json");
  for (const nlohmann::json& entry : index.at("models")) {
    const std::string name = entry.at("name"), of = entry.at("kind");
    if (of != "encoder" && of != "decoder") continue;
    if ((kind.empty() || of == kind) && std::filesystem::exists(conformance("models") / name)) names.push_back(name);
  }
  return names;
}

/// Where all-MiniLM-L6-v2 is, or should be.
inline std::filesystem::path minilm_directory() {
  if (const char* named = std::getenv("SIGHTLINE_MINILM")) return named;
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const std::filesystem::path base =
      cache != nullptr ? cache : std::filesystem::path(home != nullptr ? home : "") / ".cache";
  return base / "sightline" / "all-MiniLM-L6-v2";
}

/// A model directory in memory, to be changed and written.
struct EditableModel {
  explicit EditableModel(const std::filesystem::path& directory)
      : config(format::read_json(directory / "config.json")),
        file(format::SafetensorsFile::open(directory / "model.safetensors")),
        tensors(file.tensors()) {}

  void write(const std::filesystem::path& directory) const {
    std::ofstream(directory / "config.json") << config.dump();
    format::SafetensorsWriter writer(directory / "model.safetensors");
    for (const auto& [name, tensor] : tensors) writer.declare(name, tensor.dtype, tensor.shape);
    for (const auto& [name, tensor] : tensors) writer.write(name, tensor.bytes);
    writer.finish();
  }

  Transformer load() const {
    const format::TestDirectory directory;
    write(directory.path());
    return Transformer::load(directory.path());  // stays mapped when the directory goes
  }

  void rename(const std::string& from, const std::string& to) {
    tensors[to] = tensors.at(from);
    tensors.erase(from);
  }

  nlohmann::json config;
  format::SafetensorsFile file;
  std::map<std::string, format::Tensor, std::less<>> tensors;
};

/// A rope that follows the length from 16 tokens on, up to 64.
inline Transformer dynamic_model() {
  EditableModel model(conformance_model("llama_llama3"));
  model.config["max_position_embeddings"] = 16;
  model.config["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 4.0}};
  return model.load();
}

/// Token ids and types of one text, owned.
struct Text {
  std::vector<std::int32_t> ids, types;
  TokenSequence view() const { return {ids, types}; }
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_TESTING_H_
