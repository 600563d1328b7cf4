#include "src/format/json.h"

#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/ordered_json.h"

namespace sightline::format {
namespace {

using Json = nlohmann::json;

// Hands out bytes and keeps count of them, since the parser's events carry no position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

// The heart of nlohmann's message, which also quotes the file: "[json.exception...] parse error at line 1, column 2:
// syntax error while parsing value - invalid literal; last read: '...'".
std::string reason_of(const nlohmann::detail::exception& error) {
  const std::string_view message = error.what();
  const std::size_t dash = message.find(" - ");
  if (dash == message.npos) return "a number out of range";
  const std::string_view reason = message.substr(dash + 3);
  return std::string(reason.substr(0, reason.find(';')));
}

constexpr std::size_t kMaxOrderedKeys = 10'000;

// Receives the parser's events and builds the value, checking what the grammar leaves open.
template <class Json>
class ValueBuilder : public nlohmann::json_sax<Json> {
 public:
  ValueBuilder(std::string_view name, const JsonLimits& limits, const std::size_t* position)
      : name_(name), limits_(limits), position_(position) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(typename Json::binary_t&) override { return false; }  // not in JSON texts

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    Level& level = levels_.back();
    auto& members = level.container->template get_ref<typename Json::object_t&>();
    const auto [slot, added] = members.emplace(key, nullptr);
    level.key = std::move(key);
    if (std::is_same_v<Json, nlohmann::ordered_json> && members.size() > kMaxOrderedKeys) {
      fail("an object of more than " + std::to_string(kMaxOrderedKeys) + " keys");
    }
    if (!added) fail("duplicate key " + quote(key_path()));
    level.slot = &slot->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    fail("not valid JSON: " + reason_of(error));
    return false;
  }

 private:
  struct Level {
    Json* container;
    Json* slot;       // where the value of the current key goes; null in an array
    std::string key;  // the current key
  };

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  Json* place(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    const Level& level = levels_.back();
    if (level.slot == nullptr) {
      return &level.container->template get_ref<typename Json::array_t&>().emplace_back(std::move(value));
    }
    *level.slot = std::move(value);
    return level.slot;
  }

  bool open(Json container) {
    if (static_cast<int>(levels_.size()) >= limits_.max_depth) {
      fail("nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    }
    levels_.push_back({place(std::move(container)), nullptr, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string key_path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (!path.empty() && !level.key.empty()) path += '.';
      path += level.key;
    }
    return path;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw BadFile(std::string(name_) + ": byte " + std::to_string(*position_) + ": " + what);
  }

  std::string_view name_;
  JsonLimits limits_;
  const std::size_t* position_;  // bytes read so far
  Json root_;
  std::vector<Level> levels_;  // the arrays and objects that are open
};

std::string whole_number_range(std::int64_t min, std::int64_t max) {
  if (max < INT64_MAX) return "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
  if (min == 1) return "a positive whole number";
  if (min == INT64_MIN) return "a whole number";
  return "a whole number not below " + std::to_string(min);
}

std::string describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return quote(value.get_ref<const std::string&>());
  return value.dump();
}

template <class Json>
Json parse_as(std::string_view text, std::string_view name, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    throw BadFile(std::string(name) + ": " + std::to_string(text.size()) + " bytes of JSON are more than the " +
                  std::to_string(limits.max_bytes) + " that it may have");
  }
  // The parser takes a NUL for the end of its input and would pass over what follows.
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    throw BadFile(std::string(name) + ": byte " + std::to_string(nul + 1) + ": not valid JSON: a NUL byte");
  }
  std::size_t position = 0;
  ValueBuilder<Json> builder(name, limits, &position);
  Json::sax_parse(CountingIterator(text.data(), &position), CountingIterator(text.data() + text.size(), &position),
                  &builder);
  return builder.take();
}

}  // namespace

nlohmann::json parse_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  return parse_as<nlohmann::json>(text, name, limits);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  return parse_as<nlohmann::ordered_json>(text, name, limits);
}

nlohmann::json read_json(const std::filesystem::path& path, const JsonLimits& limits) {
  return parse_json(read_regular_file(path, limits.max_bytes), path.string(), limits);
}

std::string quote(std::string_view text) {
  constexpr std::size_t kMaxLength = 160;  // bytes; longer than any sane tensor name, short enough for a line
  const bool cut = text.size() > kMaxLength;
  std::string whole(text.substr(0, kMaxLength));
  if (cut) whole += "...";
  return Json(whole).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

JsonObject::JsonObject(const nlohmann::json& value, std::string_view name, std::string key)
    : value_(&value), name_(name), key_(std::move(key)) {
  if (value.is_object()) return;
  throw BadFile(name_ + ": " + (key_.empty() ? std::string("the file") : quote(key_)) + " must be an object, not " +
                describe(value));
}

const nlohmann::json* JsonObject::find(std::string_view key) const {
  const auto found = value_->find(std::string(key));
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

const nlohmann::json& JsonObject::require(std::string_view key) const {
  if (const Json* value = find(key)) return *value;
  throw BadFile(where(key) + (value_->contains(std::string(key)) ? " must not be null" : " is missing"));
}

std::string JsonObject::key_path(std::string_view key) const {
  return key_.empty() ? std::string(key) : key_ + "." + std::string(key);
}

std::string JsonObject::where(std::string_view key) const { return name_ + ": " + quote(key_path(key)); }

void JsonObject::refuse(std::string_view key, std::string_view expected, const nlohmann::json& value) const {
  throw BadFile(where(key) + " must be " + std::string(expected) + ", not " + describe(value));
}

std::int64_t JsonObject::require_int(std::string_view key, std::int64_t min, std::int64_t max) const {
  const Json& value = require(key);
  const bool representable =
      value.is_number_unsigned() ? value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX} : value.is_number_integer();
  if (!representable || value.get<std::int64_t>() < min || value.get<std::int64_t>() > max) {
    refuse(key, whole_number_range(min, max), value);
  }
  return value.get<std::int64_t>();
}

double JsonObject::require_number(std::string_view key) const {
  const Json& value = require(key);
  if (!value.is_number()) refuse(key, "a number", value);
  return value.get<double>();
}

bool JsonObject::require_bool(std::string_view key) const {
  const Json& value = require(key);
  if (!value.is_boolean()) refuse(key, "true or false", value);
  return value.get<bool>();
}

const std::string& JsonObject::require_string(std::string_view key) const {
  const Json& value = require(key);
  if (!value.is_string()) refuse(key, "a string", value);
  return value.get_ref<const std::string&>();
}

JsonObject JsonObject::require_object(std::string_view key) const { return {require(key), name_, key_path(key)}; }

const nlohmann::json& JsonObject::require_array(std::string_view key) const {
  const Json& value = require(key);
  if (!value.is_array()) refuse(key, "an array", value);
  return value;
}

std::optional<std::int64_t> JsonObject::find_int(std::string_view key, std::int64_t min, std::int64_t max) const {
  return has(key) ? std::optional(require_int(key, min, max)) : std::nullopt;
}

std::optional<double> JsonObject::find_number(std::string_view key) const {
  return has(key) ? std::optional(require_number(key)) : std::nullopt;
}

std::optional<bool> JsonObject::find_bool(std::string_view key) const {
  return has(key) ? std::optional(require_bool(key)) : std::nullopt;
}

const std::string* JsonObject::find_string(std::string_view key) const {
  return has(key) ? &require_string(key) : nullptr;
}

std::optional<JsonObject> JsonObject::find_object(std::string_view key) const {
  return has(key) ? std::optional(require_object(key)) : std::nullopt;
}

const nlohmann::json* JsonObject::find_array(std::string_view key) const {
  return has(key) ? &require_array(key) : nullptr;
}

}  // namespace sightline::format
