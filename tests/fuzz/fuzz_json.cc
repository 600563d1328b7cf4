// Any bytes as a JSON file, read through every getter: BadFile is the one exception allowed, and what is accepted means
// the same when it is written and read again.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sightline/error.h"
#include "src/format/json.h"

namespace {

using sightline::format::JsonObject;

template <typename Getter>
void ask(Getter getter) {
  try {
    getter();
  } catch (const sightline::BadFile&) {
  }
}

void ask_for(const JsonObject& object, const std::string& key) {
  ask([&] { object.require_int(key, 1); });
  ask([&] { object.find_int(key, -5, 5); });
  ask([&] { object.require_number(key); });
  ask([&] { object.find_bool(key); });
  ask([&] { object.require_string(key); });
  ask([&] { object.find_array(key); });
  ask([&] { object.find_object(key); });
}

void walk(const nlohmann::json& value, const std::string& key) {
  if (value.is_array()) {
    for (const auto& item : value) walk(item, key);
  } else if (value.is_object()) {
    const JsonObject object(value, "fuzz.json", key);
    ask_for(object, "absent");
    for (const auto& item : value.items()) {
      ask_for(object, item.key());
      walk(item.value(), item.key());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const nlohmann::json value = sightline::format::parse_json(text, "fuzz.json");
    walk(value, {});
    if (sightline::format::parse_json(value.dump(), "again.json") != value) std::abort();
  } catch (const sightline::BadFile&) {
  }
  return 0;
}
