#include "tests/attention/recipe.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace sightline::testing {
namespace {

// fp64 loops take about 10 ns a product: this keeps one case below about 10 ms.
constexpr std::int64_t kMostProducts = 1'000'000;

rc::Gen<std::int64_t> range(std::int64_t from, std::int64_t to) { return rc::gen::inRange<std::int64_t>(from, to + 1); }

rc::Gen<std::int64_t> any_queries() {
  return rc::gen::weightedOneOf<std::int64_t>({{1, rc::gen::just<std::int64_t>(0)},
                                               {3, rc::gen::just<std::int64_t>(1)},
                                               {8, range(2, 20)},
                                               {4, range(21, 140)}});
}

// Beyond 4096 keys a row has more than one chunk.
rc::Gen<std::int64_t> any_keys() {
  return rc::gen::weightedOneOf<std::int64_t>({{1, rc::gen::just<std::int64_t>(0)},
                                               {1, rc::gen::just<std::int64_t>(1)},
                                               {8, range(2, 70)},
                                               {8, range(60, 300)},
                                               {1, range(4000, 4300)}});
}

rc::Gen<std::int64_t> any_width() {
  return rc::gen::weightedOneOf<std::int64_t>({{2, rc::gen::just<std::int64_t>(1)},
                                               {8, range(2, 20)},
                                               {4, range(31, 70)},
                                               {7, rc::gen::element<std::int64_t>(16, 32, 48, 64, 80, 96, 112, 128)},
                                               {1, range(129, 300)}});
}

rc::Gen<Layout> any_layout(int count) {
  return rc::gen::map(range(0, count - 1), [](std::int64_t n) { return static_cast<Layout>(n); });
}

rc::Gen<Layout> any_output_layout() {
  return rc::gen::element(Layout::dense, Layout::heads_inside, Layout::transposed, Layout::reversed, Layout::spread);
}

rc::Gen<std::optional<float>> any_scale() {
  const auto given = rc::gen::element(0.0f, 1.0f, 0.125f, -0.3f, 3.0f, 1e-8f);
  return rc::gen::weightedOneOf<std::optional<float>>(
      {{3, rc::gen::just(std::optional<float>())}, {2, rc::gen::map(given, [](float x) { return std::optional(x); })}});
}

// Each value as often as its weight says.
template <class Enum>
rc::Gen<Enum> any_of(std::initializer_list<std::pair<std::size_t, Enum>> choices) {
  std::vector<Enum> all;
  for (const auto& [weight, choice] : choices) all.insert(all.end(), weight, choice);
  return rc::gen::elementOf(all);
}

// Shrinks the lengths until the reference can do it in milliseconds.
ProblemRecipe affordable(ProblemRecipe r) {
  const auto products = [&] { return r.batch * r.query_heads() * r.queries * r.keys * (r.width + r.value_width + 4); };
  while (products() > kMostProducts && r.batch * r.group * r.kv_heads > 1) r.batch = r.group = r.kv_heads = 1;
  while (products() > kMostProducts && r.queries > 1) r.queries = r.queries / 2;
  while (products() > kMostProducts && r.width + r.value_width > 2)
    r.width = (r.width + 1) / 2, r.value_width = (r.value_width + 1) / 2;
  return r;
}

// None, one, or some; a quarter of all in the mean.
rc::Gen<std::uint32_t> any_features() {
  const auto bits = rc::gen::inRange<std::uint32_t>(0, 1u << kFeatures);
  const auto one = rc::gen::map(range(0, kFeatures - 1), [](std::int64_t f) { return 1u << f; });
  const auto some = rc::gen::map(rc::gen::pair(bits, bits), [](auto pair) { return pair.first & pair.second; });
  return rc::gen::weightedOneOf<std::uint32_t>({{4, rc::gen::just(0u)}, {5, one}, {4, some}});
}

// What cannot be together is not: packed sequences are one batch, a tree implies causality and positions, and needs its
// queries among the keys.
ProblemRecipe consistent(ProblemRecipe r) {
  if (r.has(Feature::packed)) {
    r.batch = 1;
    r = r.without(Feature::tree);
  }
  if (r.has(Feature::tree)) {
    r.queries = std::min(r.queries, r.keys);
    r.alignment = Alignment::bottom_right;
  }
  if (r.has(Feature::half_bias) && r.bias == BiasKind::none) r.bias = BiasKind::plain;
  return r;
}

std::string feature_names(const ProblemRecipe& r) {
  std::string names;
  for (int f = 0; f < kFeatures; ++f) {
    if (r.has(static_cast<Feature>(f))) names += std::string(", ") + feature_name(static_cast<Feature>(f));
  }
  return names;
}

}  // namespace

const char* feature_name(Feature feature) {
  constexpr const char* kNames[kFeatures] = {"window",         "softcap",  "alibi",      "sinks",  "relative_bias",
                                             "head_scale",     "cuts",     "block_mask", "tree",   "score_function",
                                             "mask_function",  "dropout",  "pages",      "packed", "half_inputs",
                                             "quantised_keys", "half_bias"};
  return kNames[static_cast<int>(feature)];
}

ProblemRecipe ProblemRecipe::without(Feature feature) const {
  ProblemRecipe other = *this;
  other.features &= ~(1u << static_cast<int>(feature));
  return other;
}

ProblemRecipe ProblemRecipe::with(Feature feature) const {
  ProblemRecipe other = *this;
  other.features |= 1u << static_cast<int>(feature);
  return other;
}

std::ostream& operator<<(std::ostream& out, const ProblemRecipe& r) {
  out << "seed " << r.seed << ": q [" << r.batch << ", " << r.query_heads() << ", " << r.queries << ", " << r.width
      << "] " << layout_name(r.q) << ", k [" << r.batch << ", " << r.kv_heads << ", " << r.keys << ", " << r.width
      << "] " << layout_name(r.k) << ", v width " << r.value_width << " " << layout_name(r.v) << ", out "
      << layout_name(r.out) << ", magnitude " << r.magnitude;
  if (r.scale) out << ", scale " << *r.scale;
  if (r.causal) out << ", causal " << (r.alignment == Alignment::top_left ? "top left" : "bottom right");
  return out << ", mask " << static_cast<int>(r.mask) << " broadcast " << r.mask_broadcast << ", bias "
             << static_cast<int>(r.bias) << " broadcast " << r.bias_broadcast << (r.sequences ? ", sequences" : "")
             << ", poison " << static_cast<int>(r.poison) << feature_names(r);
}

rc::Gen<ProblemRecipe> any_recipe() {
  using R = ProblemRecipe;
  const auto recipe = rc::gen::build<R>(
      rc::gen::set(&R::seed),
      rc::gen::set(&R::batch, rc::gen::weightedElement<std::int64_t>({{1, 0}, {12, 1}, {6, 2}, {3, 3}})),
      rc::gen::set(&R::kv_heads, range(1, 3)), rc::gen::set(&R::group, range(1, 4)),
      rc::gen::set(&R::queries, any_queries()), rc::gen::set(&R::keys, any_keys()),
      rc::gen::set(&R::width, any_width()), rc::gen::set(&R::value_width, any_width()),
      rc::gen::set(&R::q, any_layout(kLayouts)), rc::gen::set(&R::k, any_layout(kLayouts)),
      rc::gen::set(&R::v, any_layout(kLayouts)), rc::gen::set(&R::out, any_output_layout()),
      rc::gen::set(&R::magnitude, rc::gen::element(1.0f, 4.0f, 0.01f)), rc::gen::set(&R::scale, any_scale()),
      rc::gen::set(&R::causal),
      rc::gen::set(&R::alignment, rc::gen::element(Alignment::top_left, Alignment::bottom_right)),
      rc::gen::set(&R::mask, any_of<MaskKind>({{4, MaskKind::none},
                                               {1, MaskKind::sparse},
                                               {1, MaskKind::half},
                                               {1, MaskKind::dense},
                                               {1, MaskKind::some_rows_empty}})),
      rc::gen::set(
          &R::bias,
          any_of<BiasKind>(
              {{4, BiasKind::none}, {2, BiasKind::plain}, {1, BiasKind::some_hidden}, {1, BiasKind::lowest_float}})),
      rc::gen::set(&R::mask_broadcast, rc::gen::inRange(0, 16)),
      rc::gen::set(&R::bias_broadcast, rc::gen::inRange(0, 16)), rc::gen::set(&R::sequences),
      rc::gen::set(&R::poison, any_of<Poison>({{3, Poison::none}, {2, Poison::hidden}, {1, Poison::visible}})),
      rc::gen::set(&R::features, any_features()));
  return rc::gen::map(rc::gen::resize(rc::kNominalSize, recipe), [](R r) { return affordable(consistent(r)); });
}

bool chance(std::mt19937_64& random, double p) { return std::uniform_real_distribution<>()(random) < p; }

std::int64_t between(std::mt19937_64& random, std::int64_t from, std::int64_t to) {
  return std::uniform_int_distribution<std::int64_t>(from, to)(random);
}

}  // namespace sightline::testing
