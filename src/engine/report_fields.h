#ifndef SIGHTLINE_ENGINE_REPORT_FIELDS_H_
#define SIGHTLINE_ENGINE_REPORT_FIELDS_H_

#include <span>
#include <string_view>
#include <vector>

#include "src/engine/answer.h"
#include "src/engine/knock_out.h"
#include "src/engine/report.h"
#include "src/engine/report_numbers.h"

namespace sightline::engine {

/// A list with `width` numbers a row of the map: `maps[].row.NAME` in JSON, "KIND.row.NAME" as a tensor. One that is
/// empty in a look is in neither.
struct RowField {
  std::string_view name;
  std::span<const float> MapObservations::*values;
  std::int64_t width;  // 0: a number a segment

  std::int64_t width_in(const MapObservations& map) const { return width > 0 ? width : map.segments; }
};
inline constexpr RowField kRowFields[] = {
    {"max", &MapObservations::row_max, 1},
    {"sum", &MapObservations::row_sum, 1},
    {"lse", &MapObservations::lse, 1},
    {"entropy", &MapObservations::entropy, 1},
    {"text_entropy", &MapObservations::text_entropy, 1},
    {"position", &MapObservations::position, 1},
    {"distance", &MapObservations::distance, 1},
    {"sink_weight", &MapObservations::sink_weight, 1},
    {"offset_mass", &MapObservations::offset_mass, std::size(kOffsets)},
    {"segment_mass", &MapObservations::segment_mass, 0},
};

/// The keys with the largest weights of one row, at most Look::top(), without special ones if they are set aside.
struct TopKeys {
  std::vector<std::int32_t> key;
  std::vector<float> weight;
};
TopKeys top_keys(const Look& look, const MapObservations& map, std::int64_t row, bool special);

/// The map whose weights are written out, and what was set aside of each of its rows.
struct ReportGrid {
  std::vector<std::size_t> row_items, col_items;  // indexes into the axis that the report lists
  Grid grid;
  std::vector<float> set_aside;  // [rows] weight on columns that are not shown
};
ReportGrid report_grid(const Look& look, const ReportOptions& options);
/// Whether there is one, and it has no more than kMaxGridWeights weights.
bool writes_grid(const Look& look, const ReportOptions& options);

/// The maps that `options` asks for. Throws BadArgument for an unknown one, the grid's included.
std::vector<MapId> report_maps(const Look& look, const ReportOptions& options);

/// What was summed up over rows, as fp32 that a report writes.
std::vector<float> as_floats(std::span<const double> values);
ReportJson sentences_json(const Answer& answer, ReportNumbers& number);

/// The items of an axis: words or tokens, with the places where they stand.
ReportJson item_json(const AxisItem& item);
ReportJson axis_json(const Axis& axis);

/// What a map's scores went through, and which keys its rows see.
ReportJson score_json(const ScoreRule& rule);

/// What was knocked out. Ranges [begin, end) of tokens; no end: those to come, too.
ReportJson knock_outs_json(std::span<const TextKnockOut> knock_outs);

std::string_view kind_name(model::AttentionKind kind);  // "self", "cross"

/// build_report(), and with `lists` false the same without the numbers that tensors hold: `row`, `col`, and the grid's
/// weights.
ReportJson build_report(const Look& look, const ReportOptions& options, std::span<const Explanation> explanations,
                        bool lists);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_REPORT_FIELDS_H_
