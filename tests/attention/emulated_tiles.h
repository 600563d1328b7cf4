#ifndef SIGHTLINE_TESTS_ATTENTION_EMULATED_TILES_H_
#define SIGHTLINE_TESTS_ATTENTION_EMULATED_TILES_H_

#include "src/attention/fast.h"

namespace sightline::testing {

/// The products of AMX with plain loops in the place of its instructions: everything around them is what runs there.
const FastProducts* emulated_tiles();

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_EMULATED_TILES_H_
