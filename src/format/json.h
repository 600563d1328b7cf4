#ifndef SIGHTLINE_FORMAT_JSON_H_
#define SIGHTLINE_FORMAT_JSON_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace sightline::format {

/// What a JSON file may cost before it is refused.
struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  int max_depth = 64;  // of arrays and objects within one another
};

/// Parses a whole JSON text. Beyond JSON's grammar, names that an object holds twice are refused (readers disagree on
/// which one counts), as are texts beyond the limits. Throws BadFile with `name`, the byte and, for a duplicate, the
/// key.
nlohmann::json parse_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

/// Reads and parses a file; messages name it as `path`.
nlohmann::json read_json(const std::filesystem::path& path, const JsonLimits& limits = {});

/// Text from a file as it may stand in a message: in double quotes, one line of ASCII, cut where it is long.
std::string quote(std::string_view text);

/// A JSON object of a file, with getters whose errors name file and key: `config.json: "hidden_size" must be a positive
/// whole number, not "x"`. `find_...` gives nothing where the key is absent or null; `require_...` throws BadFile
/// there. Both throw BadFile for a value of another type or outside the range. The json value must outlive the object.
class JsonObject {
 public:
  /// `value` must be an object (else BadFile). `key` is where it stands in the file, dotted; empty at the top.
  JsonObject(const nlohmann::json& value, std::string_view name, std::string key = {});

  bool has(std::string_view key) const { return find(key) != nullptr; }  // present and not null

  std::optional<std::int64_t> find_int(std::string_view key, std::int64_t min, std::int64_t max = INT64_MAX) const;
  std::int64_t require_int(std::string_view key, std::int64_t min, std::int64_t max = INT64_MAX) const;
  std::optional<double> find_number(std::string_view key) const;
  double require_number(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  bool require_bool(std::string_view key) const;
  const std::string* find_string(std::string_view key) const;
  const std::string& require_string(std::string_view key) const;
  std::optional<JsonObject> find_object(std::string_view key) const;
  JsonObject require_object(std::string_view key) const;
  const nlohmann::json* find_array(std::string_view key) const;
  const nlohmann::json& require_array(std::string_view key) const;

  const nlohmann::json& value() const { return *value_; }
  const std::string& name() const { return name_; }
  /// `config.json: "rope_scaling.factor"`: how a message about one of its keys begins.
  std::string where(std::string_view key) const;

 private:
  const nlohmann::json* find(std::string_view key) const;
  const nlohmann::json& require(std::string_view key) const;
  std::string key_path(std::string_view key) const;
  [[noreturn]] void refuse(std::string_view key, std::string_view expected, const nlohmann::json& value) const;

  const nlohmann::json* value_;
  std::string name_;
  std::string key_;
};

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_JSON_H_
