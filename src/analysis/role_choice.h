#ifndef SIGHTLINE_ANALYSIS_ROLE_CHOICE_H_
#define SIGHTLINE_ANALYSIS_ROLE_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/analysis/head_scores.h"

namespace sightline::analysis {

/// How good the heads are in a role.
struct RoleFinding {
  std::size_t role = 0;             // index into HeadScores::roles
  std::vector<std::size_t> maps;    // that were asked, from the best score on the choosing half down
  std::vector<std::uint8_t> beats;  // of each of these: whether it beats the baseline on the reported half
  bool enough = false;              // examples in both halves

  bool found() const { return enough && !maps.empty() && beats.front() != 0; }
};

/// What the heads of a model were found to do.
struct RoleChoice {
  double errors = 0;                               // needed_errors() of many texts
  std::vector<std::size_t> asked_maps;             // ascending
  std::vector<RoleFinding> roles;                  // one a role
  std::vector<std::optional<std::size_t>> of_map;  // one a map: the role that it was found to have
};

/// Chooses on the choosing half alone, and judges on the reported one. A role's best head is the one with the highest
/// score, of equal ones with more weight, then the first. A head's role is the one of which it does the largest share
/// that its baseline leaves undone, among those whose baseline it beats, taken alone; and as one of all heads it must
/// beat that one on the reported half, too. Where heads rest is their role only if they have no other: nearly all heads
/// of some models rest there whenever they find nothing. A role takes part with `least` questions in each half.
RoleChoice choose_roles(const HeadScores& scores, const ScoringOptions& options, std::int64_t least);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_ROLE_CHOICE_H_
