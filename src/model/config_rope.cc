// Rotary positions of config.json. Older files have rope_theta and, beside it, rope_scaling with "type" or "rope_type";
// newer ones have all of it in rope_parameters, for all layers or for each layer type.

#include <algorithm>
#include <cmath>

#include "sightline/error.h"
#include "src/model/config_parts.h"

namespace sightline::model {
namespace {

struct ScalingName {
  std::string_view name;
  RopeScaling scaling;
};

constexpr ScalingName kScalings[] = {
    {"default", RopeScaling::none},  {"linear", RopeScaling::linear},     {"dynamic", RopeScaling::dynamic},
    {"yarn", RopeScaling::yarn},     {"longrope", RopeScaling::longrope}, {"su", RopeScaling::longrope},
    {"llama3", RopeScaling::llama3},
};

// They change the angles, and no family here has them.
constexpr std::string_view kRefused[] = {"mrope_section", "short_mscale", "long_mscale"};
// Notes of training that some files carry, and "type" where "rope_type" is there as well.
constexpr std::string_view kIdle[] = {"finetuned", "type"};

// One object of rope settings within a file, which may be empty.
struct RopeSource {
  const ConfigKeys& top;
  const ConfigKeys& settings;
  const RopeKeys& names;
  const TransformerConfig& config;
};

RopeScaling find_scaling(const RopeSource& source) {
  const std::string* name = source.settings.find_string("rope_type");
  if (name == nullptr) name = source.settings.find_string("type");
  if (name == nullptr) return RopeScaling::none;
  const bool yarn_is_longrope = source.names.yarn_is_longrope && *name == "yarn";
  if (yarn_is_longrope) return RopeScaling::longrope;
  std::string known;
  for (const ScalingName& scaling : kScalings) {
    if (scaling.name == *name) return scaling.scaling;
    known += (known.empty() ? "" : ", ") + std::string(scaling.name);
  }
  throw UnsupportedModel(source.settings.where("rope_type") + ": " + format::quote(*name) + " is not supported (" +
                         known + " are)");
}

std::int64_t read_original_positions(const RopeSource& source) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  const auto outside = source.top.find_int(kKey, 2);
  const auto inside = source.settings.find_int(kKey, 2);
  if (outside) return *outside;
  if (source.names.original_positions != 0) return source.names.original_positions;
  return inside.value_or(std::max<std::int64_t>(source.config.max_positions, 2));
}

std::vector<double> read_factors(const ConfigKeys& settings, std::string_view key) {
  const nlohmann::json* list = settings.find_array(key);
  if (list == nullptr) throw BadFile(settings.where(key) + " is missing");
  std::vector<double> factors;
  for (const nlohmann::json& value : *list) {
    if (!value.is_number()) throw BadFile(settings.where(key) + " must hold numbers");
    factors.push_back(check_positive(value.get<double>(), settings.where(key)));
  }
  return factors;
}

void read_yarn(const RopeSource& source, Rope& rope) {
  const ConfigKeys& settings = source.settings;
  rope.original_positions = read_original_positions(source);
  const double ratio = static_cast<double>(source.config.max_positions) / static_cast<double>(rope.original_positions);
  rope.factor = settings.find_positive("factor").value_or(ratio);
  rope.attention_factor = settings.find_positive("attention_factor");
  rope.beta_fast = settings.find_positive("beta_fast").value_or(rope.beta_fast);
  rope.beta_slow = settings.find_positive("beta_slow").value_or(rope.beta_slow);
  rope.truncate = settings.find_bool("truncate").value_or(true);
  const auto mscale = settings.find_number("mscale"), mscale_all_dim = settings.find_number("mscale_all_dim");
  if (mscale.value_or(0) == 0 || mscale_all_dim.value_or(0) == 0) return;  // they count together or not at all
  rope.mscale = check_positive(*mscale, settings.where("mscale"));
  rope.mscale_all_dim = check_positive(*mscale_all_dim, settings.where("mscale_all_dim"));
}

void read_longrope(const RopeSource& source, Rope& rope) {
  rope.original_positions = read_original_positions(source);
  const double ratio = static_cast<double>(source.config.max_positions) / static_cast<double>(rope.original_positions);
  rope.factor = source.settings.find_positive("factor").value_or(ratio);
  rope.attention_factor = source.settings.find_positive("attention_factor");
  rope.short_factors = read_factors(source.settings, "short_factor");
  rope.long_factors = read_factors(source.settings, "long_factor");
}

void read_llama3(const RopeSource& source, Rope& rope) {
  rope.original_positions = read_original_positions(source);
  rope.factor = source.settings.require_positive("factor");
  rope.low_frequency_factor = source.settings.require_positive("low_freq_factor");
  rope.high_frequency_factor = source.settings.require_positive("high_freq_factor");
  if (rope.high_frequency_factor > rope.low_frequency_factor) return;
  throw BadFile(source.settings.where("high_freq_factor") + " must be above low_freq_factor");
}

void read_scaling(const RopeSource& source, Rope& rope) {
  rope.scaling = find_scaling(source);
  switch (rope.scaling) {
    case RopeScaling::none:
    case RopeScaling::divisors:
      return;
    case RopeScaling::linear:
      rope.factor = source.settings.require_positive("factor");
      return;
    case RopeScaling::dynamic:
      rope.factor = source.settings.require_positive("factor");
      rope.original_positions = source.config.max_positions;
      return;
    case RopeScaling::yarn:
      return read_yarn(source, rope);
    case RopeScaling::longrope:
      return read_longrope(source, rope);
    case RopeScaling::llama3:
      return read_llama3(source, rope);
  }
}

void check_keys(const ConfigKeys& settings) {
  for (const std::string_view key : kRefused) {
    if (settings.has(key)) throw UnsupportedModel(settings.where(key) + " is not supported");
  }
}

Rope read_rope(const RopeSource& source, std::string_view base_key, double base) {
  check_keys(source.settings);
  Rope rope;
  const auto own_base = source.settings.find_positive("rope_theta");
  const auto top_base = source.top.find_positive(base_key);
  rope.base = own_base ? *own_base : top_base.value_or(base);
  const auto own_part = source.settings.find_number("partial_rotary_factor");
  const auto top_part = source.top.find_number(source.names.partial_key);
  const double part = own_part ? *own_part : top_part.value_or(source.names.partial);
  if (!(part > 0 && part <= 1)) throw BadFile(source.top.where(source.names.partial_key) + " must be from 0 to 1");
  rope.width = static_cast<std::int64_t>(static_cast<double>(source.config.head_width) * part);
  read_scaling(source, rope);
  check_rope(rope, source.config.head_width, source.settings.where("rope_type"));
  return rope;
}

void note_unread(const ConfigKeys& settings, std::string_view prefix, TransformerConfig& config) {
  for (const std::string& key : settings.unread()) {
    if (std::ranges::find(kIdle, key) == std::end(kIdle))
      config.unknown_keys.push_back(std::string(prefix) + "." + key);
  }
}

// Settings of all layers, or of those with and those without a window.
struct RopeSettings {
  std::string_view key;
  std::optional<ConfigKeys> whole, full, window;
  bool by_layer_type = false;
};

RopeSettings find_settings(const ConfigKeys& keys) {
  RopeSettings found;
  found.key = keys.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  keys.note("rope_parameters");
  found.whole = keys.find_object(found.key);
  if (!found.whole) return found;
  found.full = found.whole->find_object("full_attention");
  found.window = found.whole->find_object("sliding_attention");
  found.by_layer_type = found.full || found.window;
  return found;
}

}  // namespace

void check_rope(const Rope& rope, std::int64_t head_width, const std::string& where) {
  const auto refuse = [&](const std::string& what) { throw BadFile(where + ": " + what); };
  if (rope.width < 2 || rope.width % 2 != 0 || rope.width > head_width) {
    refuse("positions turn " + std::to_string(rope.width) + " of the " + std::to_string(head_width) +
           " elements of a head, which must be an even number");
  }
  if (rope.base <= 1) refuse("the base of rotary positions must be above 1");
  if (rope.scaling == RopeScaling::dynamic && rope.width < 4) refuse("dynamic positions need heads of 4 elements");
  if (rope.scaling != RopeScaling::longrope) return;
  const auto pairs = static_cast<std::size_t>(rope.width / 2);
  if (rope.short_factors.size() != pairs || rope.long_factors.size() != pairs) {
    refuse("there must be " + std::to_string(pairs) + " short and long factors, one for each pair of elements");
  }
}

void stretch_positions(const Rope& rope, TransformerConfig& config) {
  if (rope.scaling != RopeScaling::dynamic && rope.scaling != RopeScaling::yarn) return;
  const double stretched =
      std::min(static_cast<double>(kMaxSize), rope.factor * static_cast<double>(rope.original_positions));
  config.max_positions = std::max(config.max_positions, static_cast<std::int64_t>(stretched));
}

void read_ropes(const ConfigKeys& keys, const Family& family, TransformerConfig& config) {
  if (family.rope.base == 0) return;
  const RopeSettings settings = find_settings(keys);
  const nlohmann::json absent = nlohmann::json::parse(family.rope.absent_settings);
  const nlohmann::json none = nlohmann::json::object();
  const ConfigKeys absent_keys{format::JsonObject(absent, keys.name(), "rope_parameters")};
  const ConfigKeys no_keys{format::JsonObject(none, keys.name(), "rope_parameters")};

  const ConfigKeys& whole = settings.whole ? *settings.whole : absent_keys;
  const ConfigKeys& full = !settings.by_layer_type ? whole : settings.full ? *settings.full : no_keys;
  const bool two = settings.by_layer_type || family.rope.window_base != 0;
  config.ropes.push_back(read_rope({keys, full, family.rope, config}, family.rope.base_key, family.rope.base));
  if (two) {
    const ConfigKeys& window = settings.window ? *settings.window : no_keys;
    const bool own_base = family.rope.window_base != 0;
    config.ropes.push_back(read_rope({keys, window, family.rope, config},
                                     own_base ? "rope_local_base_freq" : family.rope.base_key,
                                     own_base ? family.rope.window_base : family.rope.base));
    if (settings.window) note_unread(window, std::string(settings.key) + ".sliding_attention", config);
    if (settings.full) note_unread(full, std::string(settings.key) + ".full_attention", config);
  } else {
    for (LayerPattern& layer : config.pattern) layer.rope = 0;
  }
  if (settings.whole) note_unread(whole, settings.key, config);
  for (const Rope& rope : config.ropes) stretch_positions(rope, config);
}

}  // namespace sightline::model
