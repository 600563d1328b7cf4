#include "src/engine/heads_report.h"

#include <fmt/format.h>

#include <cmath>

#include "sightline/attention.h"
#include "src/engine/memory.h"
#include "src/engine/report_numbers.h"

namespace sightline::engine {
namespace {

using analysis::RoleFinding;
using analysis::Tally;

struct MapPlace {
  std::int64_t layer, head;  // from 1
};

MapPlace place_of(const analysis::HeadScores& scores, std::size_t map) {
  const auto index = static_cast<std::int64_t>(map);
  return {index / scores.heads + 1, index % scores.heads + 1};
}

std::int64_t count(const Tally& tally) { return static_cast<std::int64_t>(tally.questions); }

class HeadsJson {
 public:
  explicit HeadsJson(const HeadRoles& roles) : roles_(roles), scores_(roles.scores) {}

  ReportJson role(const RoleFinding& finding) {
    const analysis::Role& role = scores_.roles[finding.role];
    ReportJson json = name(finding.role);
    json["baseline_rule"] = role.baseline;
    json["questions"] = {{"chosen_on", count(chosen(finding, 0))},
                         {"reported", count(reported(finding, 0))},
                         {"unseen", role.unseen},
                         {"too_long", role.too_long}};
    json["enough"] = finding.enough;
    json["beats_baseline"] = finding.found();
    json["heads"] = ReportJson::array();
    for (std::size_t i = 0; i < finding.maps.size(); ++i) json["heads"].push_back(head(finding, i));
    return json;
  }

  ReportJson map(std::size_t index) {
    const auto [layer, head] = place_of(scores_, index);
    ReportJson json = {{"layer", layer}, {"head", head}, {"role", nullptr}};
    const std::optional<std::size_t> role = roles_.choice.of_map[index];
    if (!role) return json;
    json.update(name(*role));
    json.update(tally(scores_.reported(*role, index)));
    return json;
  }

  const ReportNumbers& numbers() const { return number_; }

 private:
  ReportJson name(std::size_t role) const {
    const std::string& direction = scores_.roles[role].from_to;
    return {{"role", scores_.roles[role].name},
            {"direction", direction.empty() ? ReportJson() : ReportJson(direction)}};
  }

  ReportJson tally(const Tally& tally) {
    return {{"score", number_(tally.score())},
            {"mean_weight", number_(tally.mean_weight())},
            {"baseline", number_(tally.baseline())}};
  }

  ReportJson head(const RoleFinding& finding, std::size_t rank) {
    const auto [layer, head] = place_of(scores_, finding.maps[rank]);
    ReportJson json = {{"layer", layer}, {"head", head}};
    json.update(tally(reported(finding, rank)));
    json["beats_baseline"] = finding.enough && finding.beats[rank] != 0;
    json["chosen_on"] = tally(chosen(finding, rank));
    return json;
  }

  const Tally& chosen(const RoleFinding& finding, std::size_t rank) const {
    return scores_.chosen_on(finding.role, finding.maps[rank]);
  }
  const Tally& reported(const RoleFinding& finding, std::size_t rank) const {
    return scores_.reported(finding.role, finding.maps[rank]);
  }

  const HeadRoles& roles_;
  const analysis::HeadScores& scores_;
  ReportNumbers number_;
};

ReportJson texts_json(const HeadRoles& roles, const HeadsOptions& options) {
  const auto path = [](const std::filesystem::path& file) {
    return file.empty() ? ReportJson() : ReportJson(file.string());
  };
  return {{"own_text", options.text.has_value()},
          {"length", roles.length},
          {"seed", options.seed},
          {"treebank", path(options.treebank)},
          {"coreference", path(options.coreference)},
          {"count", roles.scores.texts},
          {"done", roles.scores.texts_done}};
}

// A field of CSV: in quotes where it has to be.
std::string csv_field(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  quoted.push_back('"');
  return quoted;
}

// Without the sign that some processors give to what is no number.
std::string csv_number(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value); }

}  // namespace

ReportJson heads_report(const ModelFacts& model, const HeadRoles& roles, const HeadsOptions& options) {
  return within_memory(kNoMemoryForReport, [&] {
    HeadsJson part(roles);
    ReportJson json = {{"sightline_heads", kReportVersion},
                       {"arithmetic_version", kArithmeticVersion},
                       {"caveat", kCaveat},
                       {"model", model_json(model)},
                       {"layers", roles.scores.layers},
                       {"heads", roles.scores.heads},
                       {"holdout", options.holdout},
                       {"standard_errors", roles.choice.errors},
                       {"least_questions", options.least},
                       {"texts", texts_json(roles, options)},
                       {"roles", ReportJson::array()},
                       {"maps", ReportJson::array()}};
    for (const RoleFinding& finding : roles.choice.roles) json["roles"].push_back(part.role(finding));
    for (const std::size_t map : roles.choice.asked_maps) json["maps"].push_back(part.map(map));
    json["complete"] = roles.scores.complete;
    json["notes"] = roles.notes;
    part.numbers().note("roles", json["notes"]);
    return json;
  });
}

std::string heads_csv(const HeadRoles& roles) {
  const analysis::HeadScores& scores = roles.scores;
  std::string csv =
      "role,direction,layer,head,score,mean_weight,baseline,baseline_rule,questions,beats_baseline,"
      "score_chosen_on,baseline_chosen_on,questions_chosen_on\r\n";
  for (const RoleFinding& finding : roles.choice.roles) {
    const analysis::Role& role = scores.roles[finding.role];
    for (std::size_t i = 0; i < finding.maps.size(); ++i) {
      const auto [layer, head] = place_of(scores, finding.maps[i]);
      const Tally &chosen = scores.chosen_on(finding.role, finding.maps[i]),
                  &reported = scores.reported(finding.role, finding.maps[i]);
      csv += fmt::format("{},{},{},{},{:.6g},{},{:.6g},{},{},{},{:.6g},{:.6g},{}\r\n", csv_field(role.name),
                         csv_field(role.from_to), layer, head, reported.score(), csv_number(reported.mean_weight()),
                         reported.baseline(), csv_field(role.baseline), count(reported),
                         finding.enough && finding.beats[i] != 0 ? "yes" : "no", chosen.score(), chosen.baseline(),
                         count(chosen));
    }
  }
  return csv;
}

}  // namespace sightline::engine
