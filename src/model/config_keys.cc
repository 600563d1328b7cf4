#include "src/model/config_keys.h"

#include "sightline/error.h"

namespace sightline::model {
namespace {

// Far above rope bases in use (1e7), and far below what overflows fp32 when squared or turned round.
constexpr double kMaxNumber = 1e12, kMinNumber = 1e-12;

}  // namespace

double check_positive(double value, const std::string& where) {
  if (value >= kMinNumber && value <= kMaxNumber) return value;
  throw BadFile(where + " must be a number above 0, from 1e-12 to 1e12");
}

float check_epsilon(double value, const std::string& where) {
  if (value >= 0 && value < 1) return static_cast<float>(value);
  throw BadFile(where + " must be a number from 0 to 1");
}

float check_softcap(double value, const std::string& where) {
  if (value >= 0 && value <= kMaxNumber) return static_cast<float>(value);
  throw BadFile(where + " must be a number from 0 (none) to 1e12");
}

std::optional<double> ConfigKeys::find_positive(std::string_view key) const {
  const std::optional<double> value = find_number(key);
  if (value) check_positive(*value, where(key));
  return value;
}

double ConfigKeys::require_positive(std::string_view key) const {
  return check_positive(object_.require_number(note(key)), where(key));
}

std::optional<ConfigKeys> ConfigKeys::find_object(std::string_view key) const {
  const std::optional<format::JsonObject> object = object_.find_object(note(key));
  return object ? std::optional(ConfigKeys(*object)) : std::nullopt;
}

std::vector<std::string> ConfigKeys::unread() const {
  std::vector<std::string> keys;
  for (const auto& item : value().items()) {
    if (!item.value().is_null() && !read_.contains(item.key())) keys.push_back(item.key());
  }
  return keys;
}

}  // namespace sightline::model
