#include "src/engine/saved_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "sightline/error.h"
#include "src/engine/look_data.h"
#include "src/engine/look_memory.h"
#include "src/tensor/element.h"

namespace sightline::engine {
namespace {

constexpr std::int64_t kStripRows = 64;  // rows of weights at hand

constexpr std::string_view kVectors[] = {"q", "k", "v"};

std::string tensor_name(std::string_view name) { return fmt::format("self.{}", name); }

const TensorView& view_of(const LayerRecord& layer, std::string_view name) {
  const AttentionProblem& problem = layer.stored.problem();
  return name == "q" ? problem.q : name == "k" ? problem.k : problem.v;
}

// A dense tensor as fp32.
std::vector<float> floats_of(const TensorView& view) {
  const std::int64_t count = view.shape[0] * view.shape[1] * view.shape[2] * view.shape[3];
  const auto size = static_cast<std::int64_t>(dtype_size(view.dtype));
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] =
        element_as_f32(view.dtype, static_cast<const std::byte*>(view.data) + i * size);
  }
  return values;
}

template <class Values>
void write_values(format::SafetensorsWriter& file, const std::string& name, const Values& values) {
  file.write(name, std::as_bytes(std::span(values)));
}

}  // namespace

SavedTensors::SavedTensors(const Look& look, std::span<const std::string> names, std::vector<MapId> maps)
    : look_(look), names_(names.begin(), names.end()), maps_(std::move(maps)) {
  for (const std::string& name : names_) {
    if (std::ranges::find(kSavable, name) == std::end(kSavable)) {
      throw BadArgument(
          fmt::format("\"{}\" cannot be saved: choose from {}", shortened(name), fmt::join(kSavable, ", ")));
    }
  }
  for (const MapId& id : maps_) {
    look.require_kept(id);
    layers_.push_back(id.layer);
  }
  layers_ = distinct_layers(layers_);
  if (saves("hidden") && look.data().hidden_states.empty()) {
    throw BadArgument("the look did not keep hidden states: look again and keep them");
  }
  if (saves("attn")) require_small_enough();
}

bool SavedTensors::saves(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }

void SavedTensors::require_small_enough() const {
  const LayerRecord& layer = look_.data().layer_of(maps_.front());
  const double map = 4.0 * static_cast<double>(layer.rows) * static_cast<double>(layer.keys);
  const double bytes = map * static_cast<double>(maps_.size());
  if (bytes <= static_cast<double>(kMaxSavedWeights)) return;
  throw BadArgument(
      fmt::format("attn of {} maps of {} x {} weights would take {:.1f} GB, and {:.1f} GB are written at most: choose "
                  "fewer maps with --layer and --head, or a shorter text",
                  maps_.size(), layer.rows, layer.keys, bytes / 1e9, static_cast<double>(kMaxSavedWeights) / 1e9));
}

void SavedTensors::declare(format::SafetensorsWriter& file) const {
  declare_vectors(file);
  const LayerRecord& layer = look_.data().layer_of(maps_.front());
  const auto maps = static_cast<std::int64_t>(maps_.size());
  const auto add = [&](const std::string& name, DType dtype, std::initializer_list<std::int64_t> shape) {
    file.declare(name, dtype, std::span(shape.begin(), shape.size()));
  };
  if (saves("attn")) {
    add("self.attn_layer", DType::i32, {maps});
    add("self.attn_head", DType::i32, {maps});
    add("self.attn", DType::f32, {maps, layer.rows, layer.keys});
  }
  if (saves("hidden")) {
    const auto states = std::ssize(look_.data().hidden_states), rows = std::ssize(look_.tokens());
    add("hidden", DType::f32, {states, rows, std::ssize(look_.data().hidden_states.front()) / rows});
  }
}

void SavedTensors::declare_vectors(format::SafetensorsWriter& file) const {
  const auto layers = static_cast<std::int64_t>(layers_.size());
  bool any = false;
  for (const std::string_view name : kVectors) {
    if (!saves(name)) continue;
    any = true;
    const auto& shape = view_of(look_.data().layer_of(maps_.front()), name).shape;
    const std::int64_t stacked[] = {layers, shape[1], shape[2], shape[3]};
    file.declare(tensor_name(name), DType::f32, stacked);
  }
  if (any) file.declare("self.vector_layer", DType::i32, std::span(&layers, 1));
}

void SavedTensors::write(format::SafetensorsWriter& file) const {
  write_vectors(file);
  if (saves("attn")) write_weights(file);
  if (!saves("hidden")) return;
  for (const std::vector<float>& state : look_.data().hidden_states) write_values(file, "hidden", state);
}

void SavedTensors::write_vectors(format::SafetensorsWriter& file) const {
  bool any = false;
  for (const std::string_view name : kVectors) {
    if (!saves(name)) continue;
    any = true;
    for (const int layer : layers_) {
      write_values(file, tensor_name(name), floats_of(view_of(look_.data().layer_of({layer, 1}), name)));
    }
  }
  if (any) write_values(file, "self.vector_layer", std::vector<std::int32_t>(layers_.begin(), layers_.end()));
}

void SavedTensors::write_weights(format::SafetensorsWriter& file) const {
  std::vector<std::int32_t> layers, heads;
  for (const MapId& id : maps_) {
    layers.push_back(id.layer);
    heads.push_back(id.head);
  }
  write_values(file, "self.attn_layer", layers);
  write_values(file, "self.attn_head", heads);
  for (const MapId& id : maps_) {
    const LayerRecord& layer = look_.data().layer_of(id);
    for (std::int64_t row = 0; row < layer.rows; row += kStripRows) {
      const std::int64_t end = std::min(row + kStripRows, layer.rows);
      write_values(file, "self.attn", look_.tile(id, {0, 0, row, end, 0, layer.keys}, Stage::weights));
    }
  }
}

}  // namespace sightline::engine
