#include "tests/attention/skips.h"

#include <iostream>
#include <string_view>

#include "sightline/error.h"

namespace sightline::testing {

bool Skips::run(const ProblemRecipe& recipe, const std::function<void()>& body) {
  bool done = true;
  try {
    body();
  } catch (const BadArgument& error) {
    if (!std::string_view(error.what()).starts_with("not supported: ")) throw;
    ++refused_[error.what()];
    done = false;
  }
  for (int f = 0; f < kFeatures; ++f) {
    if (!recipe.has(static_cast<Feature>(f))) continue;
    auto& [ran, refused] = tried_[feature_name(static_cast<Feature>(f))];
    ++(done ? ran : refused);
  }
  return done;
}

int Skips::done(Feature feature) const {
  const auto found = tried_.find(feature_name(feature));
  return found == tried_.end() ? 0 : found->second.first;
}

Skips::~Skips() {
  for (const auto& [name, counts] : tried_)
    std::cout << "  " << name << ": " << counts.first << " cases, " << counts.second << " refused\n";
  for (const auto& [reason, count] : refused_) std::cout << "  skipped " << count << ": " << reason << '\n';
}

}  // namespace sightline::testing
