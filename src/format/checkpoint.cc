#include "src/format/checkpoint.h"

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/json.h"

namespace sightline::format {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

// An index may name files of its own directory only.
void check_shard_name(const JsonObject& weight_map, std::string_view tensor, const std::string& shard) {
  constexpr std::string_view kSeparators = "/\\";
  if (shard.empty() || shard == "." || shard == ".." || shard.find_first_of(kSeparators) != shard.npos ||
      shard.find('\0') != shard.npos) {
    throw BadFile(weight_map.where(tensor) + " must name a file of the same directory, not " + quote(shard));
  }
}

}  // namespace

Checkpoint Checkpoint::open(const std::filesystem::path& path) {
  if (!is_present(path)) throw BadFile(path.string() + ": no such file or directory");
  Checkpoint checkpoint;
  if (format::is_directory(path)) {
    checkpoint.add_directory(path);
  } else {
    checkpoint.add_gguf(path);
  }
  return checkpoint;
}

void Checkpoint::add_gguf(const std::filesystem::path& path) {
  name_ = path.string();
  gguf_ = GgufFile::open(path);
  for (const auto& [name, tensor] : gguf_->tensors()) tensors_.emplace(name, Entry{tensor});
}

void Checkpoint::add_directory(const std::filesystem::path& directory) {
  const std::filesystem::path single = directory / kSingleFile, index = directory / kIndexFile;
  if (is_present(index)) {
    add_shards(directory, index);
  } else if (is_present(single)) {
    add_single(single);
  } else {
    throw BadFile(directory.string() + ": no model here: neither " + kSingleFile + " nor " + kIndexFile);
  }
}

void Checkpoint::add_single(const std::filesystem::path& path) {
  name_ = path.string();
  files_.push_back(SafetensorsFile::open(path));
  for (const auto& [name, tensor] : files_.back().tensors()) tensors_.emplace(name, Entry{tensor});
}

void Checkpoint::add_shards(const std::filesystem::path& directory, const std::filesystem::path& index) {
  name_ = index.string();
  const nlohmann::json root = read_json(index);
  const JsonObject weight_map = JsonObject(root, name_).require_object("weight_map");
  std::map<std::string, std::size_t> opened;  // shard name to its place in files_
  for (const auto& item : weight_map.value().items()) {
    const std::string& tensor_name = item.key();
    const std::string& shard = weight_map.require_string(tensor_name);
    check_shard_name(weight_map, tensor_name, shard);
    const auto [place, first_use] = opened.try_emplace(shard, files_.size());
    if (first_use) files_.push_back(SafetensorsFile::open(directory / shard));
    tensors_.emplace(tensor_name, Entry{files_[place->second].at(tensor_name)});
  }
}

const Tensor* Checkpoint::find(std::string_view name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return nullptr;
  found->second.used = true;
  return &found->second.tensor;
}

const Tensor& Checkpoint::at(std::string_view name) {
  if (const Tensor* tensor = find(name)) return *tensor;
  throw BadFile(name_ + ": tensor " + quote(name) + " is missing");
}

void Checkpoint::each(const std::function<void(std::string_view, const Tensor&)>& visit) const {
  for (const auto& [name, entry] : tensors_) visit(name, entry.tensor);
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> names;
  for (const auto& item : tensors_) names.push_back(item.first);
  return names;
}

std::vector<std::string> Checkpoint::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensors_) {
    if (!entry.used) names.push_back(name);
  }
  return names;
}

}  // namespace sightline::format
