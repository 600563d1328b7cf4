#include "cli/head_measures.h"

#include <algorithm>

namespace sightline::cli {
namespace {

using engine::MapSummary;

HeadRole share_role(std::string title, float MapSummary::*share) {
  return {std::move(title), [share](const MapSummary& s) { return 100.0 * s.*share; }};
}

}  // namespace

std::vector<HeadRole> head_roles(const engine::Look& look) {
  std::vector<HeadRole> roles = {share_role("sharpest", &MapSummary::sharpness),
                                 share_role(look.sets_first_aside() ? "first" : "special", aside_share(look)),
                                 share_role("previous", &MapSummary::previous_share),
                                 share_role("same", &MapSummary::same_share)};
  if (!is_causal(look)) roles.push_back(share_role("next", &MapSummary::next_share));
  roles.push_back({"distance", [](const MapSummary& s) { return static_cast<double>(s.distance); }, false});
  if (has_sinks(look)) roles.push_back(share_role("sink", &MapSummary::sink_share));
  return roles;
}

std::string_view aside_name(const engine::Look& look) {
  return look.sets_first_aside() ? "first token" : "special tokens";
}

float MapSummary::*aside_share(const engine::Look& look) {
  return look.sets_first_aside() ? &MapSummary::first_share : &MapSummary::special_share;
}

bool is_causal(const engine::Look& look) {
  for (int layer = 1; layer <= look.layers(); ++layer) {
    if (!look.rule({layer, 1}).causal) return false;
  }
  return true;
}

bool has_sinks(const engine::Look& look) {
  for (int layer = 1; layer <= look.layers(); ++layer) {
    if (!look.rule({layer, 1}).sinks.empty()) return true;
  }
  return false;
}

double farthest_distance(const engine::Look& look) {
  double farthest = 0;
  for (const engine::MapId& id : look.maps())
    farthest = std::max(farthest, static_cast<double>(look.summary(id).distance));
  return farthest;
}

}  // namespace sightline::cli
