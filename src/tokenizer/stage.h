#ifndef SIGHTLINE_TOKENIZER_STAGE_H_
#define SIGHTLINE_TOKENIZER_STAGE_H_

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/format/json.h"

/// A tokenizer.json describes each stage by an object whose "type" says how to read the rest.
namespace sightline::tokenizer {

using format::JsonObject;

/// A row of a stage's table: a type, and how to build it (from `More` than its object, where a stage needs it).
template <typename Stage, typename... More>
struct StageType {
  std::string_view type;
  std::vector<std::string_view> settings;  // the keys it has beside "type"
  Stage (*make)(const JsonObject&, More...);
};

[[noreturn]] void refuse_type(const JsonObject& json, std::string_view type);
/// A setting that is not known might change ids: UnsupportedModel names it.
void refuse_unknown_settings(const JsonObject& json, std::span<const std::string_view> known);

/// Builds what `json` describes. Throws UnsupportedModel for a type that the table lacks.
template <typename Stage, typename... More>
Stage make_stage_of_type(const std::vector<StageType<Stage, More...>>& table, std::string_view type,
                         const JsonObject& json, More... more) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const auto& r) { return r.type == type; });
  if (row == table.end()) refuse_type(json, type);
  refuse_unknown_settings(json, row->settings);
  return row->make(json, std::move(more)...);
}

template <typename Stage>
Stage make_stage(const std::vector<StageType<Stage>>& table, const JsonObject& json) {
  return make_stage_of_type(table, json.require_string("type"), json);
}

/// The elements of an array of objects.
std::vector<JsonObject> require_objects(const JsonObject& json, std::string_view key);

/// The stages of a "Sequence".
template <typename Stage>
std::vector<Stage> make_stages(Stage (*make)(const JsonObject&), const JsonObject& json, std::string_view key) {
  std::vector<Stage> stages;
  for (const JsonObject& element : require_objects(json, key)) stages.push_back(make(element));
  return stages;
}

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_STAGE_H_
