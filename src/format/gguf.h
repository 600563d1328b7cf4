#ifndef SIGHTLINE_FORMAT_GGUF_H_
#define SIGHTLINE_FORMAT_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/format/safetensors.h"

namespace sightline::format {

/// Types of values, as the format numbers them.
enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

/// A value where it is mapped: `count` elements of `type` side by side (a string is its length, 8 bytes, and its
/// bytes).
struct GgufValue {
  GgufType type = GgufType::u8;  // of the elements; never array
  bool is_array = false;
  std::uint64_t count = 1;
  std::span<const std::byte> bytes;
};

/// Metadata of a GGUF file: typed values by key. `find_...` gives nothing where the key is absent, `require_...` throws
/// BadFile there; a value of another type or outside the range is BadFile, naming file and key. What is handed out as
/// string_view points into the file and lives as long as the GgufFile does.
class GgufMetadata {
 public:
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::vector<std::string> keys() const;  // sorted

  /// Of any integer type.
  std::optional<std::int64_t> find_int(std::string_view key, std::int64_t min, std::int64_t max = INT64_MAX) const;
  std::int64_t require_int(std::string_view key, std::int64_t min, std::int64_t max = INT64_MAX) const;
  /// A finite one, of a float or an integer type.
  std::optional<double> find_number(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string_view> find_string(std::string_view key) const;
  std::string_view require_string(std::string_view key) const;
  std::optional<std::vector<std::string_view>> find_strings(std::string_view key) const;
  /// An array of any integer type or of booleans, or one integer as an array of one.
  std::optional<std::vector<std::int64_t>> find_ints(std::string_view key) const;
  /// An array of f32.
  std::optional<std::vector<float>> find_floats(std::string_view key) const;

  /// As it stands in the file, for what no getter above covers.
  const GgufValue* find(std::string_view key) const;

  const std::string& name() const { return name_; }  // of the file, for messages
  /// `model.gguf: "llama.block_count"`: how a message about a key begins.
  std::string where(std::string_view key) const;

 private:
  friend class GgufReader;
  struct Entry {
    std::string_view key;
    GgufValue value;
  };
  [[noreturn]] void refuse(std::string_view key, const std::string& expected) const;

  std::string name_;
  std::vector<Entry> entries_;  // sorted by key
};

/// A GGUF file (versions 2 and 3, little-endian; docs/gguf.md), mapped read-only and checked whole when it is opened:
/// every count and length against the bytes that are left, types, alignment, names that occur twice, tensors that
/// overlap, leave the file, or whose rows are no whole blocks. Throws BadFile, one line naming the file, and
/// UnsupportedModel for a tensor of a type that cannot be read, naming both.
class GgufFile {
 public:
  /// Of a model split into files (NAME-00001-of-00003.gguf) the first is named; the others are opened with it.
  static GgufFile open(const std::filesystem::path& path);
  /// The same checks on bytes in memory (fuzzing, tests), which must outlive the object; a part of a split model is
  /// refused.
  static GgufFile parse(std::span<const std::byte> bytes, std::string_view name);

  const GgufMetadata& metadata() const { return metadata_; }  // of the first part
  /// Shapes are row-major: the file's dimensions turned round.
  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
  const std::string& name() const { return metadata_.name(); }

 private:
  friend class GgufReader;
  void add_parts(const std::filesystem::path& first);

  GgufMetadata metadata_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::vector<std::shared_ptr<const MappedFile>> mappings_;
};

/// Whether it is a GGUF file, by how it begins and not by its name; false for what cannot be read.
bool is_gguf(const std::filesystem::path& path);

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_GGUF_H_
