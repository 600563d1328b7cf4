#ifndef SIGHTLINE_MODEL_TESTING_H_
#define SIGHTLINE_MODEL_TESTING_H_

// For tests alone: checkpoints of the conformance set, as they are and written again with changes.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/format/json.h"
#include "src/format/safetensors.h"
#include "src/format/testing.h"
#include "src/model/transformer.h"

namespace sightline::model {

inline std::filesystem::path conformance_model(const char* name) {
  return std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/models" / name;
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

/// Token ids and types of one text, owned.
struct Text {
  std::vector<std::int32_t> ids, types;
  TokenSequence view() const { return {ids, types}; }
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_TESTING_H_
