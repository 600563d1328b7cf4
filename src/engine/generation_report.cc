#include "src/engine/generation_report.h"

#include <fmt/format.h>

#include "sightline/attention.h"
#include "sightline/error.h"
#include "src/engine/report_fields.h"
#include "src/engine/report_numbers.h"

namespace sightline::engine {
namespace {

std::vector<MapId> maps_of(int layers, int heads, const ShownMaps& shown) {
  std::vector<MapId> maps;
  for (int layer = shown.layer.value_or(1); layer <= shown.layer.value_or(layers); ++layer) {
    for (int head = shown.head.value_or(1); head <= shown.head.value_or(heads); ++head) maps.push_back({layer, head});
  }
  return maps;
}

ReportJson prompt_json(const PromptedGeneration& prompted) {
  ReportJson json = ReportJson::array();
  for (const LookToken& token : prompted.prompt) {
    json.push_back({{"id", token.id},
                    {"piece", token.piece},
                    {"label", token.label},
                    {"text", prompted.text.substr(token.byte_begin, token.byte_end - token.byte_begin)},
                    {"segment", prompted.segments.of_token[json.size()]},
                    {"special", token.special}});
  }
  return json;
}

ReportJson cache_json(const model::GenerationOptions& options) {
  ReportJson json = {{"keys", dtype_name(options.cache.keys)}, {"values", dtype_name(options.cache.values)}};
  if (options.cache.drop.kind == model::DropKind::none) return json;
  json["drop"] = model::drop_rule_text(options.cache.drop);
  json["audit"] = options.audit;
  return json;
}

ReportJson sampling_json(const model::SamplingOptions& sampling) {
  return {{"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"repeat_penalty", sampling.repeat_penalty},
          {"repeat_last_n", sampling.repeat_last},
          {"seed", sampling.temperature > 0 ? ReportJson(sampling.seed) : ReportJson(nullptr)}};
}

// The values of map `index` in an array [maps, width].
template <class T>
std::span<const T> part(const std::vector<T>& values, std::size_t index, std::int64_t width) {
  return std::span(values).subspan(index * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
}

ReportJson map_json(const model::StepSight& sight, const MapId& id, std::size_t index, ReportNumbers& number) {
  ReportJson json = {
      {"layer", id.layer}, {"head", id.head}, {"name", map_name(id)}, {"entropy", number(sight.entropy[index])}};
  if (!sight.sink_weight.empty()) json["sink_weight"] = number(sight.sink_weight[index]);
  json["segment_mass"] = number.list(part(sight.segment_mass, index, sight.segments));
  std::vector<std::int32_t> keys;
  for (const std::int32_t key : part(sight.top_key, index, sight.top)) {
    if (key >= 0) keys.push_back(key);
  }
  json["top_key"] = keys;
  json["top_weight"] = number.list(part(sight.top_weight, index, sight.top).first(keys.size()));
  return json;
}

void add_sight(const model::StepSight& sight, const ShownMaps& shown, ReportJson& line) {
  ReportNumbers number;
  ReportJson maps = ReportJson::array();
  std::vector<double> mass(sight.key_mass.empty() ? 0 : static_cast<std::size_t>(sight.keys));
  const std::vector<MapId> ids = maps_of(sight.layers, sight.heads, shown);
  for (const MapId& id : ids) {
    const auto index = static_cast<std::size_t>((id.layer - 1) * sight.heads + id.head - 1);
    maps.push_back(map_json(sight, id, index, number));
    if (mass.empty()) continue;
    const std::span<const float> of_map = part(sight.key_mass, index, sight.keys);
    for (std::size_t key = 0; key < mass.size(); ++key) mass[key] += of_map[key];
  }
  line["row"] = sight.row;
  line["segment_mass"] = number.list(as_floats(mean_segment_mass(sight, shown)));
  line["maps"] = std::move(maps);
  if (mass.empty()) return;
  ReportJson means = ReportJson::array();
  for (const double sum : mass) means.push_back(number(static_cast<float>(sum / static_cast<double>(ids.size()))));
  line["key_mass"] = std::move(means);
}

}  // namespace

ReportJson generation_json(const ModelFacts& model, const PromptedGeneration& prompted,
                           const model::GenerationOptions& options) {
  return {{"sightline_generation", kReportVersion},
          {"arithmetic_version", kArithmeticVersion},
          {"caveat", kCaveat},
          {"model", model_json(model)},
          {"text", prompted.text},
          {"tokens", prompt_json(prompted)},
          {"segments", prompted.segments.names_with_generated()},
          {"blocked", knock_outs_json(prompted.knock_outs)},
          {"resumed_tokens", prompted.generation.resumed()},
          {"context", prompted.generation.context()},
          {"cache", cache_json(options)},
          {"sampling", sampling_json(options.sampling)}};
}

ReportJson token_json(const model::GeneratedToken& token, std::int64_t position, const ShownMaps& maps) {
  ReportJson line = {{"position", position}, {"id", token.id}, {"text", token.text}};
  ReportNumbers number;
  if (token.log_probability) line["log_probability"] = number(*token.log_probability);
  if (token.evicted_mass) line["evicted_mass"] = number(*token.evicted_mass);
  if (token.sight != nullptr) add_sight(*token.sight, maps, line);
  return line;
}

ReportJson end_json(const model::Generation& generation, std::string_view end, const Answer& answer,
                    const std::optional<DropSummary>& drops) {
  ReportJson line = {{"end", end},
                     {"prompt_tokens", generation.prompt().ids.size()},
                     {"generated_tokens", generation.tokens().size()},
                     {"text", generation.text()}};
  if (generation.end() && generation.end()->kind == model::EndKind::stop_text) line["stop"] = generation.end()->text;
  ReportNumbers number;
  line["answer"] = {{"segment_mass", number.list(as_floats(answer.whole.segment_mass))}};
  line["sentences"] = sentences_json(answer, number);
  if (drops) line["eviction"] = drops_json(*drops);
  return line;
}

}  // namespace sightline::engine
