#ifndef SIGHTLINE_TESTS_ATTENTION_SKIPS_H_
#define SIGHTLINE_TESTS_ATTENTION_SKIPS_H_

#include <functional>
#include <map>
#include <string>

#include "tests/attention/recipe.h"

namespace sightline::testing {

/// Counts what was tried with each feature, and what the library refused to do, by its own reason.
class Skips {
 public:
  /// Calls `body`; false where that throws a BadArgument that begins with "not supported: ".
  bool run(const ProblemRecipe& recipe, const std::function<void()>& body);
  /// How many cases with the feature were done.
  int done(Feature feature) const;
  /// Prints the counts.
  ~Skips();
  Skips() = default;
  Skips(const Skips&) = delete;

 private:
  std::map<std::string, int> refused_;
  std::map<std::string, std::pair<int, int>> tried_;  // of each feature: done, refused
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_SKIPS_H_
