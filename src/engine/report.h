#ifndef SIGHTLINE_ENGINE_REPORT_H_
#define SIGHTLINE_ENGINE_REPORT_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/engine/answer.h"
#include "src/engine/explain.h"
#include "src/engine/look.h"

namespace sightline::engine {

/// Version of the report's schema, written into it as "sightline_report". Additions (new lists, new fields, new kinds
/// of map) keep it; it changes when a field changes its meaning or goes away. docs/report.md describes every field.
inline constexpr int kReportVersion = 1;

/// Weights of a grid that a report writes out, at most. A larger grid is left out, and `notes` says so.
inline constexpr std::int64_t kMaxGridWeights = std::int64_t{1} << 22;

/// The JSON form keeps the order in which fields are written.
using ReportJson = nlohmann::ordered_json;

struct ReportOptions {
  std::vector<MapId> maps = {};    // which maps to report; empty: all
  std::optional<MapId> grid = {};  // the map whose weights are written out item by item; none: no weights
  bool pieces = false;             // that grid between tokens rather than words
  bool special = true;             // false: leave special tokens out of grid and top keys (never renormalised)
  bool lists = true;               // false: no `row` and `col`, which grow with the text
  bool axes = true;                // false: `tokens`, `words`, `dropped` are empty, for who takes a part of the report
  std::vector<std::size_t> grid_rows = {}, grid_cols = {};  // items of that grid, ascending; empty: all
  std::vector<std::string> save = {};                       // of kSavable: tensors of the pass, in a file
  std::vector<MapId> save_maps = {};                        // of these maps and their layers; empty: all reported
  ShownMaps answer_maps = {};                               // what answers are summed over, as far as it was kept
  std::size_t explained_keys = 0;  // keys of an explanation at most, those with the largest weights; 0: all
};

/// The report's `model` object.
ReportJson model_json(const ModelFacts& model);

/// The whole report: model, text, tokens, words, segments, maps with everything observed, and explanations if there are
/// any. Layers and heads count from 1, indexes into the report's lists from 0. What is not finite is written as null,
/// and `notes` says so. Throws BadArgument for an unknown map, OutOfMemory.
ReportJson build_report(const Look& look, const ReportOptions& options = {},
                        std::span<const Explanation> explanations = {});

/// Valid JSON text, ASCII only, ending in a newline.
std::string report_text(const ReportJson& report);

/// Writes a safetensors file: the observations as tensors "self.entropy" [maps, rows] and the like, and the report as
/// JSON text in the metadata entry "sightline_report", without the `row` and `col` lists that the tensors hold; of maps
/// that were kept. Whole or not at all. Throws BadFile, BadArgument, OutOfMemory.
void write_report(const std::filesystem::path& path, const Look& look, const ReportOptions& options = {},
                  std::span<const Explanation> explanations = {});

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_REPORT_H_
