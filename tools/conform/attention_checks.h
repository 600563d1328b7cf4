#ifndef SIGHTLINE_TOOLS_CONFORM_ATTENTION_CHECKS_H_
#define SIGHTLINE_TOOLS_CONFORM_ATTENTION_CHECKS_H_

#include "tools/conform/engine.h"

namespace sightline::conform {

/// Throws Mismatch unless the top keys agree. Another key in a place is right where its weight is that of the expected
/// key within the tolerance, or both are below 1e-30.
void check_topk(const AttentionValues& got, const Array& index, const Array& weight, const Tolerance& tolerance);

/// Throws Mismatch unless tiles, chosen rows and top-k weights of one run have the same bits.
void check_consistency(const AttentionValues& got);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_ATTENTION_CHECKS_H_
