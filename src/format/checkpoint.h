#ifndef SIGHTLINE_FORMAT_CHECKPOINT_H_
#define SIGHTLINE_FORMAT_CHECKPOINT_H_

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/format/gguf.h"
#include "src/format/safetensors.h"

namespace sightline::format {

/// The weights of a model: of a GGUF file, or of a Hugging Face directory, whose shards model.safetensors.index.json
/// names; without an index it is model.safetensors. Every shard of the index must be there and whole, and hold the
/// tensors that the index says it holds; other files of the directory are never read. Throws BadFile naming the shard
/// or the tensor, and what GgufFile throws.
class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& path);

  /// Of a GGUF file; null for safetensors, whose settings are in files of their own.
  const GgufMetadata* metadata() const { return gguf_ ? &gguf_->metadata() : nullptr; }

  /// Null where there is no such tensor. What was found counts as used from then on.
  const Tensor* find(std::string_view name);
  /// Throws BadFile naming the tensor that is missing.
  const Tensor& at(std::string_view name);

  /// Calls `visit` with each name, ascending, and its tensor; none of them counts as used by that.
  void each(const std::function<void(std::string_view, const Tensor&)>& visit) const;
  std::vector<std::string> names() const;            // sorted
  std::vector<std::string> unused() const;           // those that find() and at() never gave, sorted
  const std::string& name() const { return name_; }  // of the file that lists the tensors, for messages

 private:
  struct Entry {
    Tensor tensor;
    bool used = false;
  };
  void add_gguf(const std::filesystem::path& path);
  void add_directory(const std::filesystem::path& directory);
  void add_single(const std::filesystem::path& path);
  void add_shards(const std::filesystem::path& directory, const std::filesystem::path& index);

  std::string name_;
  std::vector<SafetensorsFile> files_;  // keep the mappings alive
  std::optional<GgufFile> gguf_;
  std::map<std::string, Entry, std::less<>> tensors_;
};

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_CHECKPOINT_H_
