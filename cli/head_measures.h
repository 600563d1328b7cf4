#ifndef SIGHTLINE_CLI_HEAD_MEASURES_H_
#define SIGHTLINE_CLI_HEAD_MEASURES_H_

#include <functional>
#include <string>
#include <vector>

#include "src/engine/look.h"

namespace sightline::cli {

/// A number by which heads are told apart, as tables show it.
struct HeadRole {
  std::string title;  // at most nine columns
  std::function<double(const engine::MapSummary&)> number;
  bool share = true;  // per cent of the weight; else tokens
};

/// Sharpness, weight on what is set aside, previous and same token (and the next one, where rows see it), distance, and
/// the sinks' weight where heads have them.
std::vector<HeadRole> head_roles(const engine::Look& look);

/// "special tokens", or "first token" where that is what is set aside; and the share that lies there.
std::string_view aside_name(const engine::Look& look);
float engine::MapSummary::*aside_share(const engine::Look& look);

bool is_causal(const engine::Look& look);
bool has_sinks(const engine::Look& look);
/// Mean distance of the head that looks farthest.
double farthest_distance(const engine::Look& look);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_HEAD_MEASURES_H_
