#include "src/engine/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "src/engine/memory.h"
#include "src/engine/report_fields.h"
#include "src/engine/report_numbers.h"

namespace sightline::engine {
namespace {

// An object that grows copies all it holds, lists of lists included: room for what comes is made first.
void make_room(ReportJson& object, std::size_t fields) {
  auto& members = object.get_ref<ReportJson::object_t&>();
  members.reserve(members.size() + fields);
}

std::string_view slice(const Look& look, std::size_t begin, std::size_t end) {
  return std::string_view(look.text()).substr(begin, end - begin);
}

ReportJson tokens_json(const Look& look) {
  ReportJson json = ReportJson::array();
  const std::vector<std::int32_t>& segments = look.segments().of_token;
  for (const LookToken& token : look.tokens()) {
    json.push_back({{"id", token.id},
                    {"piece", token.piece},
                    {"label", token.label},
                    {"text", slice(look, token.byte_begin, token.byte_end)},
                    {"byte_begin", token.byte_begin},
                    {"byte_end", token.byte_end},
                    {"char_begin", token.char_begin},
                    {"char_end", token.char_end},
                    {"word", token.word},
                    {"segment", segments[json.size()]},
                    {"special", token.special}});
  }
  return json;
}

ReportJson dropped_json(const Look& look) {
  ReportJson json = ReportJson::array();
  for (const auto& [begin, end] : look.dropped()) {
    json.push_back({{"byte_begin", begin}, {"byte_end", end}, {"text", slice(look, begin, end)}});
  }
  return json;
}

ReportJson identity_json(const MapId& id) {
  return {{"kind", kind_name(id.kind)}, {"layer", id.layer}, {"head", id.head}, {"name", map_name(id)}};
}

ReportJson summary_json(const MapSummary& summary, ReportNumbers& number) {
  return {{"entropy", number(summary.entropy)},
          {"entropy_normalised", number(summary.entropy_normalised)},
          {"special_share", number(summary.special_share)},
          {"first_share", number(summary.first_share)},
          {"sink_share", number(summary.sink_share)},
          {"previous_share", number(summary.previous_share)},
          {"same_share", number(summary.same_share)},
          {"next_share", number(summary.next_share)},
          {"distance", number(summary.distance)},
          {"text_entropy", number(summary.text_entropy)},
          {"sharpness", number(summary.sharpness)}};
}

ReportJson row_json(const Look& look, const MapObservations& map, bool special, ReportNumbers& number) {
  ReportJson json = ReportJson::object();
  make_room(json, std::size(kRowFields) + 2);
  for (const RowField& field : kRowFields) {
    const std::span<const float> values = map.*field.values;
    if (values.empty()) continue;
    json[std::string(field.name)] = field.width == 1 ? number.list(values) : number.rows(values, field.width_in(map));
  }
  ReportJson keys = ReportJson::array(), weights = ReportJson::array();
  for (std::int64_t i = 0; i < map.rows; ++i) {
    const TopKeys top = top_keys(look, map, i, special);
    keys.push_back(top.key);
    weights.push_back(number.list(top.weight));
  }
  json["top_key"] = std::move(keys);
  json["top_weight"] = std::move(weights);
  return json;
}

ReportJson grid_json(const Look& look, const ReportOptions& options, bool lists, ReportNumbers& number) {
  const ReportGrid shown = report_grid(look, options);
  const char* axis = options.pieces ? "tokens" : "words";
  ReportJson json = {
      {"row_axis", axis}, {"col_axis", axis}, {"row_items", shown.row_items}, {"col_items", shown.col_items}};
  if (!lists) return json;
  json["set_aside"] = number.list(shown.set_aside);
  json["weights"] = number.rows(shown.grid.weights, shown.grid.cols);
  return json;
}

ReportJson map_json(const Look& look, const MapId& id, const ReportOptions& options, bool lists, ReportJson& notes) {
  ReportNumbers number;
  ReportJson json = identity_json(id);
  make_room(json, 10);
  json["row_axis"] = "tokens";
  json["col_axis"] = "tokens";
  json["rows"] = look.tokens().size();
  json["cols"] = look.tokens().size();
  json["kept"] = look.keeps(id);
  json["score"] = score_json(look.rule(id));
  if (!look.rule(id).sinks.empty())
    json["score"]["sink"] = number(look.rule(id).sinks[static_cast<std::size_t>(id.head - 1)]);
  json["summary"] = summary_json(look.summary(id), number);
  if (lists && options.lists && look.keeps(id)) {
    const MapObservations map = look.observations(id);
    json["row"] = row_json(look, map, options.special, number);
    json["col"] = {{"mass", number.list(map.key_mass)}};
  }
  if (options.grid == id && writes_grid(look, options)) json["grid"] = grid_json(look, options, lists, number);
  number.note(map_name(id), notes);
  return json;
}

ReportJson peak_json(const Peak& peak, ReportNumbers& number) {
  return {{"scale", number(peak.scale)}, {"entropy", number(peak.entropy)}, {"max_weight", number(peak.max_weight)}};
}

// The keys that are written out: all, or those with the largest weights, ascending.
std::vector<std::size_t> explained_keys(const Explanation& row, std::size_t limit) {
  std::vector<std::size_t> keys(row.keys.size());
  std::iota(keys.begin(), keys.end(), 0);
  if (limit == 0 || keys.size() <= limit) return keys;
  const auto weight = [&](std::size_t j) { return std::isnan(row.keys[j].weight) ? -1 : row.keys[j].weight; };
  std::ranges::stable_sort(keys, std::greater(), weight);
  keys.resize(limit);
  std::ranges::sort(keys);
  return keys;
}

ReportJson keys_json(const Explanation& row, const std::vector<std::size_t>& keys, ReportNumbers& number) {
  ReportJson json = ReportJson::array();
  const std::size_t width = row.output.size(), key_width = row.query.size();
  const auto seen = [&](std::size_t j) {
    return std::ranges::binary_search(row.visible, static_cast<std::int64_t>(j));
  };
  for (const std::size_t j : keys) {
    const ExplainedKey& key = row.keys[j];
    json.push_back({{"token", j},
                    {"dot", number(key.dot)},
                    {"scaled", number(key.scaled)},
                    {"score", seen(j) ? number(key.score) : nullptr},
                    {"weight", number(key.weight)},
                    {"value_norm", number(key.value_norm)},
                    {"contribution_norm", number(key.contribution_norm)},
                    {"contribution", number.list(std::span(row.contributions).subspan(j * width, width))},
                    {"key", number.list(std::span(row.key_vectors).subspan(j * key_width, key_width))},
                    {"value", number.list(std::span(row.value_vectors).subspan(j * width, width))}});
  }
  return json;
}

ReportJson explanation_json(const Explanation& row, std::size_t key_limit, ReportJson& notes) {
  ReportNumbers number;
  const std::vector<std::size_t> keys = explained_keys(row, key_limit);
  ReportJson json = identity_json(row.map);
  make_room(json, 13);
  json["token"] = row.token;
  json["scaled"] = row.scaled;
  json["scale"] = number(row.scale);
  json["softcap"] = number(row.softcap);
  json["query"] = number.list(row.query);
  json["keys"] = keys_json(row, keys, number);
  json["keys_left_out"] = row.keys.size() - keys.size();
  if (row.sink) json["sink"] = {{"logit", number(row.sink->logit)}, {"weight", number(row.sink->weight)}};
  json["output"] = number.list(row.output);
  json["with_scale"] = peak_json(row.with_scale, number);
  json["without_scale"] = peak_json(row.without_scale, number);
  json["weight_difference"] = number(row.weight_difference);
  json["output_difference"] = number(row.output_difference);
  number.note(fmt::format("explanation of {}, token {}", map_name(row.map), row.token), notes);
  return json;
}

ReportJson answers_json(const Look& look, const ShownMaps& maps, ReportJson& notes) {
  ReportJson json = ReportJson::array();
  for (const Answer& answer : answers_of(look, maps)) {
    ReportNumbers number;
    json.push_back({{"name", answer.name},
                    {"token_begin", answer.whole.token_begin},
                    {"token_end", answer.whole.token_end},
                    {"segment_mass", number.list(as_floats(answer.whole.segment_mass))},
                    {"sentences", sentences_json(answer, number)}});
    number.note("answer " + answer.name, notes);
  }
  return json;
}

}  // namespace

ReportJson model_json(const ModelFacts& model) {
  const model::TransformerConfig& config = model.config;
  ReportJson json = {{"name", model.name},
                     {"family", config.family},
                     {"architecture", config.architecture},
                     {"layers", config.layers},
                     {"heads", config.query_heads},
                     {"kv_heads", config.kv_heads},
                     {"head_width", config.head_width},
                     {"width", config.width},
                     {"vocabulary", config.vocabulary},
                     {"max_positions", config.max_positions},
                     {"causal", config.causal},
                     {"parameters", model.parameters}};
  if (model.tokenizer) json["tokenizer"] = model.tokenizer->kind;
  return json;
}

ReportJson score_json(const ScoreRule& rule) {
  return {{"scale", rule.scale},
          {"softcap", rule.softcap},
          {"causal", rule.causal},
          {"query_position", rule.query_position},
          {"window_left", rule.window_left},
          {"window_right", rule.window_right}};
}

ReportJson knock_outs_json(std::span<const TextKnockOut> knock_outs) {
  const auto ranges = [](const std::vector<model::PositionRange>& of) {
    ReportJson json = ReportJson::array();
    for (const model::PositionRange& range : of) {
      const bool open = range.end == model::PositionRange::kOpen;
      json.push_back({range.begin, open ? ReportJson(nullptr) : ReportJson(range.end)});
    }
    return json;
  };
  ReportJson json = ReportJson::array();
  for (const TextKnockOut& knock_out : knock_outs) {
    ReportJson maps = ReportJson::array();
    for (const auto& [layers, heads] : knock_out.maps) maps.push_back({{"layers", layers}, {"heads", heads}});
    json.push_back({{"spec", knock_out.spec},
                    {"rows", ranges(knock_out.rows)},
                    {"keys", ranges(knock_out.keys)},
                    {"maps", std::move(maps)},
                    {"seen", knock_out.seen}});
  }
  return json;
}

std::string_view kind_name(model::AttentionKind kind) { return kind == model::AttentionKind::self ? "self" : "cross"; }

ReportJson build_report(const Look& look, const ReportOptions& options, std::span<const Explanation> explanations,
                        bool lists) {
  ReportJson notes = ReportJson::array(), maps = ReportJson::array(), rows = ReportJson::array();
  for (const MapId& id : report_maps(look, options)) maps.push_back(map_json(look, id, options, lists, notes));
  ReportJson answers = answers_json(look, options.answer_maps, notes);
  if (options.grid && !writes_grid(look, options)) {
    notes.push_back(fmt::format("{}: the grid is left out, it would have more than {} weights: choose rows and keys",
                                map_name(*options.grid), kMaxGridWeights));
  }
  for (const Explanation& row : explanations) rows.push_back(explanation_json(row, options.explained_keys, notes));
  ReportJson report = {{"sightline_report", kReportVersion},
                       {"arithmetic_version", kArithmeticVersion},
                       {"caveat", kCaveat},
                       {"notes", std::move(notes)},
                       {"model", model_json(look.model())},
                       {"text", look.text()},
                       {"cut_tokens", look.cut_tokens()},
                       {"tokens", options.axes ? tokens_json(look) : ReportJson::array()},
                       {"words", options.axes ? axis_json(look.words()) : ReportJson::array()},
                       {"dropped", options.axes ? dropped_json(look) : ReportJson::array()},
                       {"segments", look.segments().names},
                       {"offsets", kOffsets},
                       {"top", look.top()},
                       {"special_in_top", options.special},
                       {"sharpest", identity_json(look.sharpest())}};
  make_room(report, 3);
  report["answers"] = std::move(answers);
  report["blocked"] = knock_outs_json(look.knock_outs());
  report["maps"] = std::move(maps);
  report["explanations"] = std::move(rows);
  return report;
}

ReportJson build_report(const Look& look, const ReportOptions& options, std::span<const Explanation> explanations) {
  return within_memory(kNoMemoryForReport, [&] { return build_report(look, options, explanations, true); });
}

std::string report_text(const ReportJson& report) {
  return within_memory(kNoMemoryForReport,
                       [&] { return report.dump(-1, ' ', true, ReportJson::error_handler_t::replace) + '\n'; });
}

}  // namespace sightline::engine
