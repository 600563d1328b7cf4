#include "src/engine/study_report.h"

#include "sightline/attention.h"
#include "src/engine/look.h"
#include "src/engine/memory.h"
#include "src/engine/report_fields.h"
#include "src/engine/report_numbers.h"

namespace sightline::engine {
namespace {

constexpr const char* kNeeds[] = {"none", "welcome", "needed"};  // by StudyNeed

ReportJson table_json(const analysis::Table& table, ReportNumbers& number) {
  ReportJson json = {{"key", table.key}, {"title", table.title}};
  if (!table.labels.empty()) json["labels"] = table.labels;
  json["columns"] = ReportJson::array();
  for (const analysis::Column& column : table.columns) {
    json["columns"].push_back({{"key", column.key},
                               {"heading", column.heading},
                               {"unit", column.unit},
                               {"timed", column.timed},
                               {"values", number.list(column.values)}});
  }
  return json;
}

ReportJson figure_json(const analysis::Figure& figure, ReportNumbers& number) {
  return {{"key", figure.key},
          {"name", figure.name},
          {"unit", figure.unit},
          {"timed", figure.timed},
          {"value", number(figure.value)}};
}

}  // namespace

ReportJson study_report(const ModelFacts* model, const analysis::Study& study, const analysis::StudyOptions& options) {
  return within_memory(kNoMemoryForReport, [&] {
    ReportNumbers number;
    ReportJson json = {{"sightline_study", kReportVersion},
                       {"arithmetic_version", kArithmeticVersion},
                       {"caveat", kCaveat},
                       {"model", model != nullptr ? model_json(*model) : ReportJson()},
                       {"study", study.name},
                       {"claim", study.claim},
                       {"seed", options.seed},
                       {"settings", study.settings}};
    json["tables"] = ReportJson::array();
    for (const analysis::Table& table : study.tables) json["tables"].push_back(table_json(table, number));
    json["figures"] = ReportJson::array();
    for (const analysis::Figure& figure : study.figures) json["figures"].push_back(figure_json(figure, number));
    json["complete"] = study.complete;
    json["notes"] = study.notes;
    number.note("tables and figures", json["notes"]);
    return json;
  });
}

ReportJson study_list_report() {
  ReportJson json = {{"sightline_study", kReportVersion}, {"studies", ReportJson::array()}};
  for (const StudyEntry& entry : studies()) {
    json["studies"].push_back({{"study", entry.name},
                               {"claim", entry.claim},
                               {"model", kNeeds[static_cast<std::size_t>(entry.model)]},
                               {"text", kNeeds[static_cast<std::size_t>(entry.text)]},
                               {"decoder", entry.decoder}});
  }
  return json;
}

}  // namespace sightline::engine
