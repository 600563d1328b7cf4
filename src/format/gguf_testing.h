#ifndef SIGHTLINE_FORMAT_GGUF_TESTING_H_
#define SIGHTLINE_FORMAT_GGUF_TESTING_H_

// For tests alone: the bytes of GGUF files.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/format/gguf.h"

namespace sightline::format {

template <class T>
std::string raw_bytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}
inline std::string gguf_string(std::string_view text) {
  return raw_bytes(std::uint64_t{text.size()}) + std::string(text);
}

/// Writes what it is told, right or wrong.
class GgufBuilder {
 public:
  template <class T>
  static constexpr GgufType type_of() {
    if constexpr (std::is_same_v<T, bool>) return GgufType::boolean;
    if constexpr (std::is_same_v<T, std::uint8_t>) return GgufType::u8;
    if constexpr (std::is_same_v<T, std::int8_t>) return GgufType::i8;
    if constexpr (std::is_same_v<T, std::uint16_t>) return GgufType::u16;
    if constexpr (std::is_same_v<T, std::int16_t>) return GgufType::i16;
    if constexpr (std::is_same_v<T, std::uint32_t>) return GgufType::u32;
    if constexpr (std::is_same_v<T, std::int32_t>) return GgufType::i32;
    if constexpr (std::is_same_v<T, std::uint64_t>) return GgufType::u64;
    if constexpr (std::is_same_v<T, std::int64_t>) return GgufType::i64;
    if constexpr (std::is_same_v<T, float>) return GgufType::f32;
    if constexpr (std::is_same_v<T, double>) return GgufType::f64;
  }

  GgufBuilder& raw(std::string_view key, GgufType type, std::string_view bytes) {
    pairs_ += gguf_string(key) + raw_bytes(type) + std::string(bytes);
    ++pair_count;
    return *this;
  }
  template <class T>
  GgufBuilder& number(std::string_view key, T value) {
    return raw(key, type_of<T>(), raw_bytes(value));
  }
  GgufBuilder& string(std::string_view key, std::string_view text) {
    return raw(key, GgufType::string, gguf_string(text));
  }
  template <class T>
  GgufBuilder& numbers(std::string_view key, const std::vector<T>& values) {
    std::string bytes = raw_bytes(type_of<T>()) + raw_bytes(std::uint64_t{values.size()});
    for (const T value : values) bytes += raw_bytes(value);
    return raw(key, GgufType::array, bytes);
  }
  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = raw_bytes(GgufType::string) + raw_bytes(std::uint64_t{values.size()});
    for (const std::string& value : values) bytes += gguf_string(value);
    return raw(key, GgufType::array, bytes);
  }

  /// The record of a tensor; dimensions stand fastest first.
  GgufBuilder& record(std::string_view name, const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
                      std::uint64_t offset) {
    records_ += gguf_string(name) + raw_bytes(static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t size : dimensions) records_ += raw_bytes(size);
    records_ += raw_bytes(type) + raw_bytes(offset);
    ++tensor_count;
    return *this;
  }
  /// A tensor and its data, which follow those of the tensor before.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
                      std::string_view data) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    record(name, dimensions, type, data_.size());
    data_ += data;
    return *this;
  }
  GgufBuilder& data(std::string_view bytes) {
    data_ += bytes;
    return *this;
  }

  std::string bytes() const {
    std::string file = magic + raw_bytes(version) + raw_bytes(tensor_count) + raw_bytes(pair_count) + pairs_ + records_;
    if (!data_.empty()) file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data_;
  }

  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t tensor_count = 0, pair_count = 0;
  std::size_t alignment = 32;  // of the data; the key is written by who wants it

 private:
  std::string pairs_, records_, data_;
};

/// Lives as long as `bytes` do.
inline GgufFile parse_gguf(const std::string& bytes) {
  return GgufFile::parse(std::as_bytes(std::span(bytes)), "m.gguf");
}

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_GGUF_TESTING_H_
