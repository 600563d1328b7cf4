#include "src/engine/compare_report.h"

#include "sightline/attention.h"
#include "src/analysis/divergence.h"
#include "src/engine/memory.h"
#include "src/engine/report_fields.h"
#include "src/engine/report_numbers.h"

namespace sightline::engine {
namespace {

ReportJson index_or_null(std::int64_t index) { return index < 0 ? ReportJson() : ReportJson(index); }

ReportJson text_json(const Look& look, const Axis& axis) {
  return {{"text", look.text()},
          {"tokens", look.tokens().size()},
          {"cut_tokens", look.cut_tokens()},
          {"items", axis_json(axis)}};
}

ReportJson items_json(const TextPair& pair) {
  ReportJson items = ReportJson::array();
  for (const analysis::AlignedPair& item : pair.items()) {
    items.push_back({{"a", index_or_null(item.a)}, {"b", index_or_null(item.b)}, {"same", item.same}});
  }
  return items;
}

// Numbers of JSON, and notes on those that it cannot write.
class RowsJson {
 public:
  RowsJson(const TextPair& pair, std::size_t listed) : pair_(pair), listed_(listed) {}

  ReportJson rows(const std::vector<RowContrast>& contrasts) {
    ReportJson json = ReportJson::array();
    for (const RowContrast& contrast : contrasts) {
      json.push_back(row(contrast));
      if (json.size() <= listed_) add_weights(contrast, json.back());
    }
    return json;
  }

  ReportJson words(const std::vector<ItemContrast>& words) {
    ReportJson json = ReportJson::array();
    for (const ItemContrast& word : words) {
      json.push_back({{"item", word.item},
                      {"layer", word.map.layer},
                      {"head", word.map.head},
                      {"name", map_name(word.map)},
                      {"divergence", number_(word.largest)},
                      {"mean_divergence", number_(word.mean)}});
    }
    return json;
  }

  ReportJson notes() const {
    ReportJson notes = ReportJson::array();
    number_.note("rows", notes);
    return notes;
  }

 private:
  ReportJson row(const RowContrast& contrast) {
    ReportJson changes = ReportJson::array();
    for (const Change& change : contrast.changes) {
      changes.push_back({{"item", change.item}, {"a", weight(change.a)}, {"b", weight(change.b)}});
    }
    ReportJson flip;
    if (contrast.flip) flip = {{"a", contrast.flip->a}, {"b", contrast.flip->b}};
    return {{"item", contrast.item},
            {"layer", contrast.map.layer},
            {"head", contrast.map.head},
            {"name", map_name(contrast.map)},
            {"divergence", number_(contrast.divergence)},
            {"shift", number_(contrast.shift)},
            {"changes", changes},
            {"flip", flip}};
  }

  void add_weights(const RowContrast& contrast, ReportJson& json) {
    RowPair rows = read_rows(pair_, contrast.item, contrast.map);
    json["sink"] = {{"a", weight(rows.a.back())}, {"b", weight(rows.b.back())}};
    rows.a.pop_back();
    rows.b.pop_back();
    json["a"] = number_.list(std::vector<float>(rows.a.begin(), rows.a.end()));
    json["b"] = number_.list(std::vector<float>(rows.b.begin(), rows.b.end()));
  }

  // Weights come from fp32, and are written as such.
  ReportJson weight(double weight) { return number_(static_cast<float>(weight)); }

  const TextPair& pair_;
  std::size_t listed_;
  ReportNumbers number_;
};

ReportJson built(const TextPair& pair, const Comparison& comparison, std::size_t listed) {
  RowsJson part(pair, listed);
  ReportJson json = {{"sightline_compare", kReportVersion},
                     {"arithmetic_version", kArithmeticVersion},
                     {"caveat", kCaveat},
                     {"model", model_json(pair.a().model())},
                     {"unit", pair.pieces() ? "tokens" : "words"},
                     {"texts", {text_json(pair.a(), pair.axis_a()), text_json(pair.b(), pair.axis_b())}},
                     {"items", items_json(pair)},
                     {"identical", !pair.first_difference()},
                     {"first_difference", index_or_null(pair.first_difference().value_or(-1))}};
  json["item"] = comparison.item ? ReportJson(*comparison.item) : ReportJson();
  json["blind"] = comparison.item && pair.is_blind(*comparison.item);
  json["named"] = comparison.named;
  json["by"] = rank_name(comparison.by);
  json["most_divergence"] = analysis::kMostDivergence;
  json["rows"] = part.rows(comparison.rows);
  json["offered"] = part.rows(comparison.offered);
  json["words"] = part.words(comparison.words);
  json["blind_items"] = comparison.blind;
  json["complete"] = comparison.complete;
  json["notes"] = part.notes();
  return json;
}

}  // namespace

std::string_view rank_name(RankBy by) { return by == RankBy::shift ? "shift" : "divergence"; }

ReportJson compare_report(const TextPair& pair, const Comparison& comparison, std::size_t listed) {
  return within_memory(kNoMemoryForReport, [&] { return built(pair, comparison, listed); });
}

}  // namespace sightline::engine
