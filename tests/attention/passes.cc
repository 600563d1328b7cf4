#include "tests/attention/passes.h"

namespace sightline::testing {
namespace {

// Trees have no part of keys without their nodes; packed sequences lie in tensors.
ProblemRecipe divisible(const ProblemRecipe& recipe) {
  const ProblemRecipe plain = recipe.without(Feature::tree);
  return plain.has(Feature::packed) ? plain.without(Feature::pages) : plain;
}

}  // namespace

void forget_what_needs_all_keys(Observed& observed) {
  for (auto* array : {&observed.key_mass, &observed.overview, &observed.row_weights, &observed.mass_sums}) *array = {};
}

Passes::Passes(const ProblemRecipe& recipe) : random_(divisible(recipe)) {
  if (random_.problem().pages) contiguous_ = std::make_unique<Contiguous>(random_.problem());
  std::mt19937_64 numbers(recipe.seed + 1);
  observations_ = ObservationRecipe::any(random_.problem(), numbers);
}

Observations Passes::request(Observed& into, const ObservationRecipe& recipe) const {
  Observations see = into.request(recipe);
  see.key_mass = see.mass_sums = see.overview = see.row_weights = nullptr;
  return see;
}

Observed Passes::whole(int threads) const {
  Observed got(random_.problem(), observations_, random_.make_output());
  attention(random_.problem(), got.out.mutable_view(), request(got, observations_), {.threads = threads});
  forget_what_needs_all_keys(got);
  return got;
}

Observed Passes::run(std::int64_t begin, std::int64_t end, const AttentionOptions& options) const {
  const KeyPart part(problem(), begin, end);
  ObservationRecipe observations = observations_;
  observations.segment_of_key = part.segments(observations_.segment_of_key);
  Observed got(part.problem(), observations, random_.make_output());
  attention(part.problem(), got.out.mutable_view(), request(got, observations), options);
  forget_what_needs_all_keys(got);
  return got;
}

AttentionState Passes::state_of(std::int64_t begin, std::int64_t end) const {
  AttentionState state;
  run(begin, end, {.threads = 1, .save = &state});
  return state;
}

Observed Passes::finish(const AttentionState& state) const {
  Observed got(problem(), observations_, random_.make_output());
  finish_state(problem(), state, got.out.mutable_view(), request(got, observations_));
  forget_what_needs_all_keys(got);
  return got;
}

}  // namespace sightline::testing
