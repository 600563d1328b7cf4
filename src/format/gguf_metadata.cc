#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sightline/error.h"
#include "src/format/gguf.h"
#include "src/format/gguf_types.h"
#include "src/format/json.h"
#include "src/tensor/element.h"

namespace sightline::format {
namespace {

// The integer (or boolean) number `index` of a value; nothing where i64 does not hold it.
std::optional<std::int64_t> int_at(const GgufValue& value, std::size_t index) {
  const std::byte* from = value.bytes.data() + index * value_size(value.type);
  switch (value.type) {
    case GgufType::u8:
    case GgufType::boolean:
      return load_element<std::uint8_t>(from);
    case GgufType::i8:
      return load_element<std::int8_t>(from);
    case GgufType::u16:
      return load_element<std::uint16_t>(from);
    case GgufType::i16:
      return load_element<std::int16_t>(from);
    case GgufType::u32:
      return load_element<std::uint32_t>(from);
    case GgufType::i32:
      return load_element<std::int32_t>(from);
    case GgufType::i64:
      return load_element<std::int64_t>(from);
    default: {
      const auto large = load_element<std::uint64_t>(from);
      if (large > std::uint64_t{INT64_MAX}) return std::nullopt;
      return static_cast<std::int64_t>(large);
    }
  }
}

// The string that begins at `from`; its length was checked when the file was opened.
std::string_view string_at(const std::byte* from) {
  return {reinterpret_cast<const char*>(from) + sizeof(std::uint64_t), load_element<std::uint64_t>(from)};
}

std::string range_text(std::int64_t min, std::int64_t max) {
  if (max == INT64_MAX) return "a whole number, " + std::to_string(min) + " or more";
  return "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
}

std::string shown(const GgufValue& value) {
  const char* type = value_type_name(value.type);
  if (value.is_array) return fmt::format("an array of {}, of {}", value.count, type);
  if (value.type == GgufType::string) return quote(string_at(value.bytes.data()));
  if (value.type == GgufType::f32) return fmt::format("{} ({})", load_element<float>(value.bytes.data()), type);
  if (value.type == GgufType::f64) return fmt::format("{} ({})", load_element<double>(value.bytes.data()), type);
  const std::optional<std::int64_t> number = int_at(value, 0);
  return fmt::format("{} ({})", number ? std::to_string(*number) : "a number beyond 2^63", type);
}

}  // namespace

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), key,
                                      [](const Entry& entry, std::string_view wanted) { return entry.key < wanted; });
  return found != entries_.end() && found->key == key ? &found->value : nullptr;
}

std::vector<std::string> GgufMetadata::keys() const {
  std::vector<std::string> keys;
  keys.reserve(entries_.size());
  for (const Entry& entry : entries_) keys.emplace_back(entry.key);
  return keys;
}

std::string GgufMetadata::where(std::string_view key) const { return name_ + ": " + quote(key); }

void GgufMetadata::refuse(std::string_view key, const std::string& expected) const {
  throw BadFile(where(key) + " must be " + expected + ", not " + shown(*find(key)));
}

std::optional<std::int64_t> GgufMetadata::find_int(std::string_view key, std::int64_t min, std::int64_t max) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || !is_integer(value->type)) refuse(key, range_text(min, max));
  const std::optional<std::int64_t> number = int_at(*value, 0);
  if (!number || *number < min || *number > max) refuse(key, range_text(min, max));
  return number;
}

std::int64_t GgufMetadata::require_int(std::string_view key, std::int64_t min, std::int64_t max) const {
  if (const auto number = find_int(key, min, max)) return *number;
  throw BadFile(where(key) + " is missing");
}

std::optional<double> GgufMetadata::find_number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<double> number;
  if (!value->is_array) {
    if (value->type == GgufType::f32) number = load_element<float>(value->bytes.data());
    if (value->type == GgufType::f64) number = load_element<double>(value->bytes.data());
    if (is_integer(value->type)) number = int_at(*value, 0);
  }
  if (!number || !std::isfinite(*number)) refuse(key, "a finite number");
  return number;
}

std::optional<bool> GgufMetadata::find_bool(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || value->type != GgufType::boolean || *int_at(*value, 0) > 1) refuse(key, "true or false");
  return *int_at(*value, 0) == 1;
}

std::optional<std::string_view> GgufMetadata::find_string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || value->type != GgufType::string) refuse(key, "a string");
  return string_at(value->bytes.data());
}

std::string_view GgufMetadata::require_string(std::string_view key) const {
  if (const auto text = find_string(key)) return *text;
  throw BadFile(where(key) + " is missing");
}

std::optional<std::vector<std::string_view>> GgufMetadata::find_strings(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array || value->type != GgufType::string) refuse(key, "an array of strings");
  std::vector<std::string_view> strings;
  strings.reserve(value->count);
  const std::byte* from = value->bytes.data();
  for (std::uint64_t i = 0; i < value->count; ++i) {
    strings.push_back(string_at(from));
    from += sizeof(std::uint64_t) + strings.back().size();
  }
  return strings;
}

std::optional<std::vector<std::int64_t>> GgufMetadata::find_ints(std::string_view key) const {
  constexpr const char* kExpected = "an array of whole numbers";
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!is_integer(value->type) && !(value->is_array && value->type == GgufType::boolean)) refuse(key, kExpected);
  std::vector<std::int64_t> numbers;
  numbers.reserve(value->count);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    const std::optional<std::int64_t> number = int_at(*value, i);
    if (!number) refuse(key, kExpected);
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<std::vector<float>> GgufMetadata::find_floats(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array || value->type != GgufType::f32) refuse(key, "an array of f32");
  std::vector<float> numbers(value->count);
  if (!numbers.empty()) std::memcpy(numbers.data(), value->bytes.data(), value->bytes.size());
  return numbers;
}

}  // namespace sightline::format
