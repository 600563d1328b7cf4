// Which layers of a model have a window.

#include <algorithm>

#include "sightline/error.h"
#include "src/model/config_parts.h"

namespace sightline::model {
namespace {

constexpr std::string_view kFull = "full_attention", kSliding = "sliding_attention";

// Keys that a query sees, its own counted; 0: all.
std::int64_t read_window(const ConfigKeys& keys, const Family& family) {
  const bool said = keys.value().contains("sliding_window");  // null is none, not the default
  const std::int64_t window = said ? keys.find_int("sliding_window", 0).value_or(0) : family.traits.window;
  const bool optional = family.traits.windows == WindowRule::from_max_window_layer;
  return optional && !keys.find_bool("use_sliding_window").value_or(false) ? 0 : window;
}

std::int64_t read_period(const ConfigKeys& keys) {
  const auto period = keys.find_int("sliding_window_pattern", 1);
  return period ? *period : keys.find_int("_sliding_window_pattern", 1).value_or(6);
}

void take_layer_types(const ConfigKeys& keys, std::int64_t window, const nlohmann::json& types,
                      TransformerConfig& config) {
  if (types.size() != config.pattern.size()) {
    throw BadFile(keys.where("layer_types") + " names " + std::to_string(types.size()) + " layers, there are " +
                  std::to_string(config.layers));
  }
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    if (types[layer] == kFull) continue;
    if (types[layer] != kSliding) {
      throw UnsupportedModel(keys.where("layer_types") + ": " + format::quote(types[layer].dump()) +
                             " is not supported (full_attention and sliding_attention are)");
    }
    if (window == 0) throw BadFile(keys.where("layer_types") + " asks for windows, but no sliding_window is set");
    config.pattern[layer] = {window, 1};
  }
}

void refuse_windows(const ConfigKeys& keys) {
  const nlohmann::json* types = keys.find_array("layer_types");
  if (types == nullptr || std::ranges::all_of(*types, [](const auto& type) { return type == kFull; })) return;
  throw UnsupportedModel(keys.where("layer_types") + ": only full_attention is supported in models of this type");
}

}  // namespace

bool has_window(WindowRule rule, std::int64_t layer, std::int64_t period) {
  switch (rule) {
    case WindowRule::all_layers:
      return true;
    case WindowRule::even_layers:
      return layer % 2 == 0;
    case WindowRule::between_full_layers:
      return (layer + 1) % period != 0;
    default:
      return false;
  }
}

void read_pattern(const ConfigKeys& keys, const Family& family, TransformerConfig& config) {
  config.pattern.assign(static_cast<std::size_t>(config.layers), {});
  const WindowRule rule = family.traits.windows;
  if (rule == WindowRule::none) return refuse_windows(keys);
  const std::int64_t window = read_window(keys, family);
  const std::int64_t first = keys.find_int("max_window_layers", 0).value_or(28);  // Qwen's default
  const std::int64_t period = read_period(keys);
  if (const nlohmann::json* types = keys.find_array("layer_types")) {
    take_layer_types(keys, window, *types, config);
    return;
  }
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const bool sliding = rule == WindowRule::from_max_window_layer ? layer >= first : has_window(rule, layer, period);
    if (sliding) config.pattern[static_cast<std::size_t>(layer)] = {window, 1};
  }
}

}  // namespace sightline::model
