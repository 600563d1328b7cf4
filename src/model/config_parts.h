#ifndef SIGHTLINE_MODEL_CONFIG_PARTS_H_
#define SIGHTLINE_MODEL_CONFIG_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "src/model/config.h"
#include "src/model/family.h"

namespace sightline::model {

/// A description with all that the family says and nothing of the file.
TransformerConfig family_config(const Family& family);

/// Throws BadFile where the heads do not fit together, or are too many or too wide. where_heads, where_kv_heads: how
/// messages about their numbers begin.
void check_heads(const TransformerConfig& config, const std::string& where_heads, const std::string& where_kv_heads);

/// The activation that config.json calls so. Throws UnsupportedModel.
Activation find_activation(std::string_view name, const std::string& where);

/// The part of config.json that says which layers have a window: layer_types, or the family's rule. Fills in pattern;
/// its rope is 1 for layers of the kind that may have a window.
void read_pattern(const ConfigKeys& keys, const Family& family, TransformerConfig& config);

/// Whether layer `layer` has the window where the rule goes by the layer alone (even_layers, between_full_layers with
/// `period`, all_layers).
bool has_window(WindowRule rule, std::int64_t layer, std::int64_t period);

/// Rotary positions of config.json: rope_theta and rope_scaling, or rope_parameters, one for all layers or one for each
/// layer type. Fills in ropes and the pattern's index into them; takes pattern as filled in.
void read_ropes(const ConfigKeys& keys, const Family& family, TransformerConfig& config);

/// Positions up to where a scaling (yarn, dynamic) opens them, since some files leave the longest sequence at the
/// original length.
void stretch_positions(const Rope& rope, TransformerConfig& config);

/// Throws BadFile where a rope turns an odd number of elements or more than a head has, or has as many factors as do
/// not go with them.
void check_rope(const Rope& rope, std::int64_t head_width, const std::string& where);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_CONFIG_PARTS_H_
