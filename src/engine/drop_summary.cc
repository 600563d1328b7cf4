#include "src/engine/drop_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/engine/report_numbers.h"
#include "src/generation/decoding.h"

namespace sightline::engine {
namespace {

double share_of(const model::HeadDrops& head) {
  return head.received_mass > 0 ? head.evicted_mass / head.received_mass : 0;
}

void add_heads(const model::TransformerConfig& config, const model::DropAccount& account, DropSummary& summary) {
  for (std::size_t i = 0; i < account.heads.size(); ++i) {
    const model::HeadDrops& head = account.heads[i];
    DropSummary::Layer& layer = summary.layers[i / static_cast<std::size_t>(config.kv_heads)];
    layer.kept = head.kept;
    layer.evicted += head.evicted;
    layer.evicted_share += share_of(head) / static_cast<double>(config.kv_heads);
    summary.evicted += head.evicted;
    summary.evicted_share += share_of(head) / static_cast<double>(account.heads.size());
  }
}

void add_audits(const model::TransformerConfig& config, const model::DropAccount& account, DropSummary& summary) {
  const auto heads = static_cast<std::size_t>(config.query_heads);
  const double rows = static_cast<double>(std::max<std::int64_t>(account.rows, 1));
  for (std::size_t i = 0; i < account.audits.size(); ++i) {
    const model::HeadAudit& audit = account.audits[i];
    summary.layers[i / heads].missed += audit.sum / rows / static_cast<double>(heads);
    summary.missed += audit.sum / rows / static_cast<double>(account.audits.size());
    if (audit.largest <= (summary.peak ? summary.peak->share : 0)) continue;
    summary.peak = DropSummary::Peak{audit.largest, static_cast<int>(i / heads) + 1, static_cast<int>(i % heads) + 1,
                                     audit.largest_row};
  }
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string size_text(std::int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

ReportJson audit_json(const DropSummary& summary, ReportNumbers& number) {
  ReportJson json = {{"rows", summary.rows}, {"mass", number(summary.missed)}, {"largest", nullptr}};
  if (summary.peak) {
    json["largest"] = {{"mass", number(summary.peak->share)},
                       {"layer", summary.peak->layer},
                       {"head", summary.peak->head},
                       {"row", summary.peak->row}};
  }
  json["departure"] = nullptr;
  if (summary.departure) {
    json["departure"] = {{"token", summary.departure->index},
                         {"id", summary.departure->id},
                         {"piece", summary.departure->piece},
                         {"full_id", summary.departure->full_id},
                         {"full_piece", summary.departure->full_piece}};
  }
  return json;
}

std::string departure_note(const DropSummary& summary) {
  if (!summary.departure) return "the text is the one that all keys give";
  const model::Departure& d = *summary.departure;
  return fmt::format("from its token {} on the text is another than all keys give: \"{}\" in place of \"{}\"",
                     d.index + 1, d.piece, d.full_piece);
}

}  // namespace

std::optional<DropSummary> summarise_drops(const model::TransformerConfig& config,
                                           const model::GenerationOptions& options,
                                           const model::Generation& generation) {
  const model::DropAccount* const account = generation.drops();
  if (account == nullptr) return std::nullopt;
  DropSummary summary;
  summary.rule = options.cache.drop;
  summary.rows = account->rows;
  summary.audited = options.audit;
  summary.departure = generation.departure();
  summary.cache_bytes = generation.cache_bytes();
  summary.full_bytes = model::cache_bytes(config, std::ssize(generation.prompt().ids) + account->rows, options.cache);
  summary.layers.resize(static_cast<std::size_t>(config.layers));
  add_heads(config, *account, summary);
  add_audits(config, *account, summary);
  return summary;
}

ReportJson drops_json(const DropSummary& summary) {
  ReportNumbers number;
  ReportJson json = {{"rule", drop_rule_text(summary.rule)},
                     {"evicted_keys", summary.evicted},
                     {"evicted_mass", number(summary.evicted_share)},
                     {"cache_bytes", summary.cache_bytes},
                     {"full_bytes", summary.full_bytes}};
  ReportJson layers = ReportJson::array();
  for (const DropSummary::Layer& layer : summary.layers) {
    ReportJson of_layer = {
        {"kept_keys", layer.kept}, {"evicted_keys", layer.evicted}, {"evicted_mass", number(layer.evicted_share)}};
    if (summary.audited) of_layer["audit_mass"] = number(layer.missed);
    layers.push_back(std::move(of_layer));
  }
  json["layers"] = std::move(layers);
  if (summary.audited) json["audit"] = audit_json(summary, number);
  return json;
}

std::vector<std::string> drop_notes(const DropSummary& summary) {
  std::vector<std::string> notes;
  notes.push_back(
      fmt::format("{}: {} keys were evicted, with {} of all weight that keys had received; the cache takes "
                  "{}, with all keys {}",
                  drop_rule_text(summary.rule), summary.evicted, percent(summary.evicted_share),
                  size_text(summary.cache_bytes), size_text(summary.full_bytes)));
  if (!summary.audited) return notes;
  std::string missed =
      fmt::format("later tokens would have given evicted keys {} of their weight", percent(summary.missed));
  if (summary.peak) {
    missed += fmt::format(", {} at most (L{}H{}, position {})", percent(summary.peak->share), summary.peak->layer,
                          summary.peak->head, summary.peak->row);
  }
  notes.push_back(missed);
  notes.push_back(departure_note(summary));
  return notes;
}

}  // namespace sightline::engine
