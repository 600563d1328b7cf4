#include "src/analysis/role_choice.h"

#include <algorithm>
#include <tuple>

namespace sightline::analysis {
namespace {

std::vector<std::size_t> asked_maps(const HeadScores& scores, const ScoringOptions& options) {
  std::vector<std::size_t> maps;
  for (int layer = 1; layer <= scores.layers; ++layer) {
    for (int head = 1; head <= scores.heads; ++head) {
      if (options.layer.value_or(layer) == layer && options.head.value_or(head) == head) {
        maps.push_back(scores.map(layer, head));
      }
    }
  }
  return maps;
}

// What a head chooses its role from need not be certain yet: the other half decides, and of all heads.
constexpr std::int64_t kOneHead = 1;

// Also where one head alone was asked for: that it was picked from all of them is what it takes to find it.
std::int64_t all_heads(const HeadScores& scores) { return scores.layers * scores.heads; }

RoleFinding find_role(const HeadScores& scores, std::size_t role, std::vector<std::size_t> maps, std::int64_t least) {
  RoleFinding finding{role, std::move(maps), {}, false};
  std::ranges::stable_sort(finding.maps, [&](std::size_t a, std::size_t b) {
    const Tally &one = scores.chosen_on(role, a), &other = scores.chosen_on(role, b);
    return std::tuple(one.score(), one.mean_weight()) > std::tuple(other.score(), other.mean_weight());
  });
  for (const std::size_t map : finding.maps) {
    finding.beats.push_back(beats_baseline(scores.reported(role, map), all_heads(scores)) ? 1 : 0);
  }
  const std::size_t any = finding.maps.front();
  finding.enough = std::min(scores.chosen_on(role, any).questions, scores.reported(role, any).questions) >=
                   static_cast<double>(least);
  return finding;
}

std::optional<std::size_t> role_of(const HeadScores& scores, const RoleChoice& choice, std::size_t map, bool resting) {
  std::optional<std::size_t> best;
  double most = 0;
  for (const RoleFinding& finding : choice.roles) {
    const Tally& tally = scores.chosen_on(finding.role, map);
    if (!finding.enough || scores.roles[finding.role].resting != resting) continue;
    if (!beats_baseline(tally, kOneHead) || share_of_rest(tally) <= most) continue;
    most = share_of_rest(tally);
    best = finding.role;
  }
  if (best && !beats_baseline(scores.reported(*best, map), all_heads(scores))) best.reset();
  return best;
}

}  // namespace

RoleChoice choose_roles(const HeadScores& scores, const ScoringOptions& options, std::int64_t least) {
  RoleChoice choice;
  choice.asked_maps = asked_maps(scores, options);
  choice.errors = needed_errors(all_heads(scores));
  for (std::size_t role = 0; role < scores.roles.size(); ++role) {
    choice.roles.push_back(find_role(scores, role, choice.asked_maps, least));
  }
  choice.of_map.resize(static_cast<std::size_t>(scores.layers * scores.heads));
  for (const std::size_t map : choice.asked_maps) {
    choice.of_map[map] = role_of(scores, choice, map, /*resting=*/false);
    if (!choice.of_map[map]) choice.of_map[map] = role_of(scores, choice, map, /*resting=*/true);
  }
  return choice;
}

}  // namespace sightline::analysis
