#ifndef SIGHTLINE_TESTS_ATTENTION_TEST_CASES_H_
#define SIGHTLINE_TESTS_ATTENTION_TEST_CASES_H_

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace sightline::testing {

/// How many cases a property is tried on: SIGHTLINE_TEST_CASES, or 2000. Sanitizers and emulators take fewer.
inline int test_cases() {
  const char* given = std::getenv("SIGHTLINE_TEST_CASES");
  return given != nullptr ? std::max(1, std::atoi(given)) : 2000;
}

/// Whether cases were cut down: tests that take minutes on slow machines then stand aside.
inline bool is_reduced() { return test_cases() < 2000; }

/// Tries a property on `share` of that many cases. RapidCheck prints its configuration first, the seed in it.
template <class Property>
void check_property(const Property& property, double share = 1) {
  auto params = rc::detail::configuration().testParams;
  params.maxSuccess = std::max(1, static_cast<int>(share * test_cases()));
  const auto result = rc::detail::checkProperty(rc::detail::toProperty(property), {}, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << message.str();
}

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_TEST_CASES_H_
