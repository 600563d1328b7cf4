#include "src/engine/why_report.h"

#include <span>
#include <utility>

#include "sightline/attention.h"
#include "src/engine/memory.h"
#include "src/engine/report_fields.h"
#include "src/engine/report_numbers.h"

namespace sightline::engine {
namespace {

ReportJson tokens_json(const Why& why) {
  ReportJson json = ReportJson::array();
  for (const LookToken& token : why.tokens) {
    json.push_back({{"id", token.id}, {"piece", token.piece}, {"label", token.label}, {"special", token.special}});
  }
  return json;
}

ReportJson maps_json(const Why& why) {
  ReportJson json = ReportJson::array();
  for (const TextKnockOut::Maps& maps : why.maps) json.push_back({{"layers", maps.layers}, {"heads", maps.heads}});
  return json;
}

// Numbers of JSON, and notes on those that it cannot write.
class WhyJson {
 public:
  ReportJson measures(const Why& why) {
    ReportJson json = ReportJson::array();
    for (const WhyMeasure& measure : why.measures) {
      json.push_back({{"kind", measure_name(measure.kind)}});
      if (measure.kind == WhyMeasure::Kind::log_probability) {
        json.back()["answer"] = measure.answer;
        json.back()["ids"] = measure.ids;
        json.back()["likeliest"] = measure.likeliest;
      }
      json.back()["value"] = number_(measure.value);
    }
    return json;
  }

  ReportJson edges(const Why& why) {
    ReportJson json = ReportJson::array();
    for (const WhyEdge& edge : why.edges) {
      json.push_back(where(edge.layer, edge.head));
      json.back()["item"] = edge.item;
      json.back()["weight"] = number_(edge.weight);
      json.back()["value_weight"] = number_(edge.value_weight);
      json.back()["rollout"] = number_(edge.rollout);
      json.back()["effects"] = number_.list(edge.effects);
    }
    return json;
  }

  ReportJson by_map(const Why& why) {
    ReportJson json = ReportJson::array();
    for (const WhyMap& map : why.by_map) {
      json.push_back(where(map.layer, map.head));
      json.back()["edges"] = map.edges;
      json.back()["spearman"] = correlation(map.correlation);
    }
    return json;
  }

  ReportJson heads(const Why& why) {
    ReportJson json = ReportJson::array();
    for (const WhyHead& head : why.heads) {
      json.push_back(where(head.layer, head.head));
      json.back()["effects"] = number_.list(head.effects);
    }
    return json;
  }

  ReportJson direct(const Why& why, std::size_t heads) {
    ReportJson json = ReportJson::array();
    for (const model::Contributions& parts : why.direct) {
      ReportJson layers = ReportJson::array();
      for (std::size_t first = 0; first < parts.heads.size(); first += heads) {
        layers.push_back(number_.list(std::span(parts.heads).subspan(first, heads)));
      }
      json.push_back({{"answer", number_(parts.answer)},
                      {"heads", std::move(layers)},
                      {"feed_forward", number_.list(parts.feed_forward)},
                      {"embeddings", number_(parts.embeddings)},
                      {"rest", number_(parts.rest)}});
    }
    return json;
  }

  // Not defined is no fault of a number: null, and no note.
  static ReportJson correlation(const WhyCorrelation& of) {
    ReportNumbers number;
    return {{"weight", number(of.weight)},
            {"value_weight", number(of.value_weight)},
            {"rollout", number(of.rollout)},
            {"chance", number(of.chance)}};
  }

  ReportJson notes(const Why& why) const {
    ReportJson notes = why.notes;
    number_.note("numbers", notes);
    return notes;
  }

 private:
  static ReportJson where(int layer, int head) {
    ReportJson json = ReportJson::object();
    if (layer > 0) json["layer"] = layer;
    if (head > 0) json["head"] = head;
    return json;
  }

  ReportNumbers number_;
};

}  // namespace

std::string_view measure_name(WhyMeasure::Kind kind) {
  switch (kind) {
    case WhyMeasure::Kind::log_probability:
      return "log_probability";
    case WhyMeasure::Kind::margin:
      return "margin";
    case WhyMeasure::Kind::text_vector:
      return "text_vector";
    case WhyMeasure::Kind::row_vector:
      break;
  }
  return "row_vector";
}

ReportJson why_report(const ModelFacts& model, const Why& why) {
  return within_memory(kNoMemoryForReport, [&] {
    WhyJson part;
    ReportJson json = {{"sightline_why", kReportVersion},
                       {"arithmetic_version", kArithmeticVersion},
                       {"caveat", kCaveat},
                       {"model", model_json(model)},
                       {"text", why.text},
                       {"tokens", tokens_json(why)},
                       {"items", axis_json(why.items)},
                       {"row", item_json(why.row)},
                       {"block", why.block},
                       {"maps", maps_json(why)}};
    if (why.place >= 0) json["place"] = why.place;
    json["measures"] = part.measures(why);
    json["ranked_by"] = why.ranked_by;
    json["seen"] = why.seen;
    json["taken"] = why.taken;
    json["taken_weight"] = why.taken_weight;
    json["edges"] = part.edges(why);
    json["spearman"] = WhyJson::correlation(why.correlation);
    json["by_map"] = part.by_map(why);
    json["heads"] = part.heads(why);
    json["direct"] = part.direct(why, static_cast<std::size_t>(model.config.query_heads));
    json["work"] = {{"done", why.work.done}, {"naive", why.work.naive}, {"ratio", why.work.ratio()}};
    json["complete"] = why.complete;
    json["notes"] = part.notes(why);
    return json;
  });
}

}  // namespace sightline::engine
