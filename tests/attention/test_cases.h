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

/// Tries a property on that many cases. RapidCheck prints its configuration first, the seed in it.
template <class Property>
void check_property(const Property& property) {
  auto params = rc::detail::configuration().testParams;
  params.maxSuccess = test_cases();
  const auto result = rc::detail::checkProperty(rc::detail::toProperty(property), {}, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << message.str();
}

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_TEST_CASES_H_
