#include <array>
#include <optional>
#include <string>

#include "src/engine/memory.h"
#include "src/engine/report.h"
#include "src/engine/report_fields.h"
#include "src/engine/saved_tensors.h"
#include "src/format/safetensors.h"

namespace sightline::engine {
namespace {

// The maps of one kind, whose observations are stacked: axis 0 of every tensor runs over them, in the report's order.
struct Stack {
  std::string kind;
  std::vector<MapId> ids;
  std::vector<MapObservations> maps;  // of equal rows and keys

  std::string name(std::string_view field) const { return kind + "." + std::string(field); }
  std::string row_name(std::string_view field) const { return name("row.") + std::string(field); }
};

Stack stack_of(const Look& look, const std::vector<MapId>& ids) {
  Stack stack{std::string(kind_name(ids.front().kind)), ids, {}};
  for (const MapId& id : ids) stack.maps.push_back(look.observations(id));
  return stack;
}

// Top keys of all rows, padded to `top` slots with -1 and 0.
TopKeys padded_top(const Look& look, const MapObservations& map, bool special) {
  TopKeys all;
  for (std::int64_t i = 0; i < map.rows; ++i) {
    TopKeys row = top_keys(look, map, i, special);
    row.key.resize(static_cast<std::size_t>(look.top()), -1);
    row.weight.resize(static_cast<std::size_t>(look.top()), 0);
    all.key.insert(all.key.end(), row.key.begin(), row.key.end());
    all.weight.insert(all.weight.end(), row.weight.begin(), row.weight.end());
  }
  return all;
}

void declare(format::SafetensorsWriter& file, const Stack& stack, std::int64_t top) {
  const auto count = static_cast<std::int64_t>(stack.maps.size());
  const std::int64_t rows = stack.maps.front().rows, keys = stack.maps.front().keys;
  const auto add = [&](const std::string& name, DType dtype, std::initializer_list<std::int64_t> shape) {
    file.declare(name, dtype, std::span(shape.begin(), shape.size()));
  };
  add(stack.name("layer"), DType::i32, {count});
  add(stack.name("head"), DType::i32, {count});
  for (const RowField& field : kRowFields) {
    if ((stack.maps.front().*field.values).empty()) continue;
    if (field.width == 1) {
      add(stack.row_name(field.name), DType::f32, {count, rows});
    } else {
      add(stack.row_name(field.name), DType::f32, {count, rows, field.width_in(stack.maps.front())});
    }
  }
  add(stack.row_name("top_key"), DType::i32, {count, rows, top});
  add(stack.row_name("top_weight"), DType::f32, {count, rows, top});
  add(stack.name("col.mass"), DType::f32, {count, keys});
}

template <class Values>
void write(format::SafetensorsWriter& file, const std::string& name, const Values& values) {
  file.write(name, std::as_bytes(std::span(values)));
}

void write_stack(format::SafetensorsWriter& file, const Stack& stack, const Look& look, bool special) {
  for (const MapId& id : stack.ids) write(file, stack.name("layer"), std::array<std::int32_t, 1>{id.layer});
  for (const MapId& id : stack.ids) write(file, stack.name("head"), std::array<std::int32_t, 1>{id.head});
  for (const auto& [name, values, width] : kRowFields) {
    if ((stack.maps.front().*values).empty()) continue;
    for (const MapObservations& map : stack.maps) write(file, stack.row_name(name), map.*values);
  }
  for (const MapObservations& map : stack.maps) {
    write(file, stack.row_name("top_key"), padded_top(look, map, special).key);
  }
  for (const MapObservations& map : stack.maps) {
    write(file, stack.row_name("top_weight"), padded_top(look, map, special).weight);
  }
  for (const MapObservations& map : stack.maps) write(file, stack.name("col.mass"), map.key_mass);
}

void write_file(const std::filesystem::path& path, const Look& look, const ReportOptions& options,
                std::span<const Explanation> explanations) {
  ReportOptions written = options;
  if (options.maps.empty()) written.maps = look.kept_maps();
  const Stack stack = stack_of(look, report_maps(look, written));
  std::optional<SavedTensors> saved;
  if (!options.save.empty())
    saved.emplace(look, options.save, options.save_maps.empty() ? stack.ids : options.save_maps);
  const ReportJson json = build_report(look, written, explanations, false);
  format::SafetensorsWriter file(path, {{"sightline_report", report_text(json)}});
  declare(file, stack, look.top());
  const bool grid = writes_grid(look, options);
  ReportGrid shown;
  if (grid) {
    shown = report_grid(look, options);
    const std::array<std::int64_t, 2> shape = {shown.grid.rows, shown.grid.cols};
    file.declare(stack.name("grid.weights"), DType::f32, shape);
    file.declare(stack.name("grid.set_aside"), DType::f32, std::span(shape).first(1));
  }
  if (saved) saved->declare(file);
  write_stack(file, stack, look, options.special);
  if (grid) {
    write(file, stack.name("grid.weights"), shown.grid.weights);
    write(file, stack.name("grid.set_aside"), shown.set_aside);
  }
  if (saved) saved->write(file);
  file.finish();
}

}  // namespace

void write_report(const std::filesystem::path& path, const Look& look, const ReportOptions& options,
                  std::span<const Explanation> explanations) {
  within_memory(kNoMemoryForReport, [&] { write_file(path, look, options, explanations); });
}

}  // namespace sightline::engine
