#ifndef SIGHTLINE_TESTS_ATTENTION_REFERENCE_CHECK_H_
#define SIGHTLINE_TESTS_ATTENTION_REFERENCE_CHECK_H_

#include <string>

#include "src/attention/reference.h"
#include "tests/attention/observed.h"
#include "tests/attention/random_problem.h"

namespace sightline::testing {

/// Compares output and observations with the fp64 reference within bounds of fp32 rounding that follow from the
/// magnitudes of the problem, and tiles, chosen rows and top keys with one another to the bit. Empty, or the first
/// thing that is wrong.
std::string check_against_reference(const RandomProblem& random, const ObservationRecipe& recipe, Observed& got,
                                    const reference::Result& expected);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_REFERENCE_CHECK_H_
