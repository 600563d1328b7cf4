#ifndef SIGHTLINE_MODEL_CONFIG_KEYS_H_
#define SIGHTLINE_MODEL_CONFIG_KEYS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/format/json.h"

namespace sightline::model {

// Far above any model there is, and low enough for products of two to fit 64 bits.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxVocabulary = INT32_MAX;  // ids are 32 bits wide
inline constexpr std::int64_t kMaxLayers = 4096;
inline constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
inline constexpr std::int64_t kMaxHeadsWidth = std::int64_t{1} << 22;  // of all heads together: times tokens, layers
                                                                       // and 4 bytes it still fits 64 bits
inline constexpr std::int64_t kMaxExperts = 4096;  // of a layer; each has objects in memory before its tensors are seen

/// Throws BadFile, beginning with `where`, for a number outside [1e-12, 1e12]: rope bases and factors, scales.
double check_positive(double value, const std::string& where);
/// The same for [0, 1).
float check_epsilon(double value, const std::string& where);
/// The same for [0, 1e12]; 0 stands for none.
float check_softcap(double value, const std::string& where);

/// An object of config.json that remembers which of its keys were read, so that the others can be named.
class ConfigKeys {
 public:
  explicit ConfigKeys(format::JsonObject object) : object_(std::move(object)) {}

  bool has(std::string_view key) const { return object_.has(note(key)); }
  std::optional<std::int64_t> find_int(std::string_view key, std::int64_t min, std::int64_t max = kMaxSize) const {
    return object_.find_int(note(key), min, max);
  }
  std::int64_t require_int(std::string_view key, std::int64_t min, std::int64_t max = kMaxSize) const {
    return object_.require_int(note(key), min, max);
  }
  std::optional<double> find_number(std::string_view key) const { return object_.find_number(note(key)); }
  std::optional<double> find_positive(std::string_view key) const;
  double require_positive(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const { return object_.find_bool(note(key)); }
  const std::string* find_string(std::string_view key) const { return object_.find_string(note(key)); }
  const nlohmann::json* find_array(std::string_view key) const { return object_.find_array(note(key)); }
  std::optional<ConfigKeys> find_object(std::string_view key) const;

  /// Counts a key as read.
  std::string_view note(std::string_view key) const { return *read_.emplace(key).first; }
  /// Keys with a value that were not read.
  std::vector<std::string> unread() const;

  const nlohmann::json& value() const { return object_.value(); }
  const std::string& name() const { return object_.name(); }
  std::string where(std::string_view key) const { return object_.where(key); }

 private:
  format::JsonObject object_;
  mutable std::set<std::string, std::less<>> read_;  // a record beside what the object means
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_CONFIG_KEYS_H_
