#include "tests/attention/passes.h"

namespace sightline::testing {
namespace {

// Trees have no part of keys without their nodes; packed sequences lie in tensors.
ProblemRecipe divisible(const ProblemRecipe& recipe) {
  const ProblemRecipe plain = recipe.without(Feature::tree);
  return plain.has(Feature::packed) ? plain.without(Feature::pages) : plain;
}

}  // namespace

Observations without_what_needs_all_keys(Observations see) {
  see.key_mass = see.mass_sums = see.overview = see.row_weights = nullptr;
  return see;
}

void forget_what_needs_all_keys(Observed& observed) {
  for (auto* array : {&observed.key_mass, &observed.overview, &observed.row_weights, &observed.mass_sums}) *array = {};
}

Passes::Passes(const ProblemRecipe& recipe) : random_(divisible(recipe)) {
  if (random_.problem().pages) contiguous_ = std::make_unique<Contiguous>(random_.problem());
  std::mt19937_64 numbers(recipe.seed + 1);
  observations_ = ObservationRecipe::any(random_.problem(), numbers);
}

ObservationRecipe Passes::with_segments_of(const KeyPart& part) const {
  ObservationRecipe observations = observations_;
  observations.segment_of_key = part.segments(observations_.segment_of_key);
  return observations;
}

Observed Passes::blank() const { return {problem(), observations_, random_.make_output()}; }

Observations Passes::request(Observed& into) const { return without_what_needs_all_keys(into.request(observations_)); }

Observed Passes::whole(int threads) const {
  Observed got(random_.problem(), observations_, random_.make_output());
  attention(random_.problem(), got.out.mutable_view(), request(got), {.threads = threads});
  forget_what_needs_all_keys(got);
  return got;
}

Observed Passes::run(std::int64_t begin, std::int64_t end, const AttentionOptions& options) const {
  constexpr std::int64_t kBeforeAll = INT64_MIN / 2;  // with what pads a sequence on the left
  const KeyPart part(problem(), begin == 0 ? kBeforeAll : begin, end);
  const ObservationRecipe observations = with_segments_of(part);
  Observed got(part.problem(), observations, random_.make_output());
  attention(part.problem(), got.out.mutable_view(), without_what_needs_all_keys(got.request(observations)), options);
  forget_what_needs_all_keys(got);
  return got;
}

AttentionState Passes::state_of(std::int64_t begin, std::int64_t end) const {
  AttentionState state;
  run(begin, end, {.threads = 1, .save = &state});
  return state;
}

Observed Passes::finish(const AttentionState& state) const {
  Observed got = blank();
  finish_state(problem(), state, got.out.mutable_view(), request(got));
  forget_what_needs_all_keys(got);
  return got;
}

}  // namespace sightline::testing
