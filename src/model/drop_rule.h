#ifndef SIGHTLINE_MODEL_DROP_RULE_H_
#define SIGHTLINE_MODEL_DROP_RULE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sightline/context.h"

namespace sightline::model {

/// Throws BadArgument for numbers out of range.
void require_drop_rule(const DropRule& rule);

/// The keys of a head: where each stands in the text, and the weight it has received.
struct HeadKeys {
  std::span<const std::int32_t> positions;
  std::span<const double> mass;
};

/// Which of a head's keys goes next, as an index. `newest`: the position of the newest key, which is among them. Of
/// equal masses the older goes. There is always one: rules keep fewer keys safe than a head has when one must go.
std::int64_t next_to_go(const DropRule& rule, const HeadKeys& keys, std::int64_t newest);

/// What is left once keys have gone until there are `keep`: indexes, ascending.
std::vector<std::int64_t> those_kept(const DropRule& rule, const HeadKeys& keys, std::int64_t keep);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_DROP_RULE_H_
