#include "tests/attention/random_problem.h"

#include <cmath>
#include <limits>
#include <ostream>

#include "src/attention/reference.h"

namespace sightline::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLowest = std::numeric_limits<float>::lowest();
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
                                               {2, rc::gen::element<std::int64_t>(64, 80, 96, 128)},
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

Shape4 broadcast(Shape4 shape, int axes) {
  for (int axis = 0; axis < 4; ++axis) {
    if (axes >> axis & 1) shape[axis] = 1;
  }
  return shape;
}

bool chance(std::mt19937_64& random, double p) { return std::uniform_real_distribution<>()(random) < p; }

std::int64_t between(std::mt19937_64& random, std::int64_t from, std::int64_t to) {
  return std::uniform_int_distribution<std::int64_t>(from, to)(random);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ProblemRecipe& r) {
  out << "seed " << r.seed << ": q [" << r.batch << ", " << r.query_heads() << ", " << r.queries << ", " << r.width
      << "] " << layout_name(r.q) << ", k [" << r.batch << ", " << r.kv_heads << ", " << r.keys << ", " << r.width
      << "] " << layout_name(r.k) << ", v width " << r.value_width << " " << layout_name(r.v) << ", out "
      << layout_name(r.out) << ", magnitude " << r.magnitude;
  if (r.scale) out << ", scale " << *r.scale;
  if (r.causal) out << ", causal " << (r.alignment == Alignment::top_left ? "top left" : "bottom right");
  return out << ", mask " << static_cast<int>(r.mask) << " broadcast " << r.mask_broadcast << ", bias "
             << static_cast<int>(r.bias) << " broadcast " << r.bias_broadcast << (r.sequences ? ", sequences" : "")
             << ", poison " << static_cast<int>(r.poison);
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
      rc::gen::set(&R::poison, any_of<Poison>({{3, Poison::none}, {2, Poison::hidden}, {1, Poison::visible}})));
  return rc::gen::map(rc::gen::resize(rc::kNominalSize, recipe), affordable);
}

RandomProblem::RandomProblem(const ProblemRecipe& recipe) : recipe_(recipe) {
  std::mt19937_64 random(recipe.seed);
  make_operands(random);
  problem_.scale = recipe.scale;
  problem_.causal = recipe.causal;
  problem_.alignment = recipe.alignment;
  if (recipe.mask != MaskKind::none) make_mask(random);
  if (recipe.bias != BiasKind::none) make_bias(random);
  if (recipe.sequences) make_sequences(random);
  if (recipe.poison != Poison::none) poison(random);
}

Strided<float> RandomProblem::make_output() const {
  const Shape4 shape{recipe_.batch, recipe_.query_heads(), recipe_.queries, recipe_.value_width};
  return {DType::f32, shape, recipe_.out, 7.5e8f};
}

// Gaps are NaN: an engine that reads them shows it.
void RandomProblem::make_operands(std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  const auto make = [&](std::int64_t heads, std::int64_t length, std::int64_t width, Layout layout, float magnitude) {
    Strided<float> tensor(DType::f32, {recipe_.batch, heads, length, width}, layout, kNan);
    tensor.fill([&](float& x) { x = normal(random) * magnitude; });
    return tensor;
  };
  q_ = make(recipe_.query_heads(), recipe_.queries, recipe_.width, recipe_.q, recipe_.magnitude);
  k_ = make(recipe_.kv_heads, recipe_.keys, recipe_.width, recipe_.k, recipe_.magnitude);
  v_ = make(recipe_.kv_heads, recipe_.keys, recipe_.value_width, recipe_.v, 1);
  problem_.q = q_.view();
  problem_.k = k_.view();
  problem_.v = v_.view();
}

void RandomProblem::make_mask(std::mt19937_64& random) {
  const Shape4 full{recipe_.batch, recipe_.query_heads(), recipe_.queries, recipe_.keys};
  const double visible = recipe_.mask == MaskKind::sparse ? 0.03 : recipe_.mask == MaskKind::dense ? 0.97 : 0.5;
  mask_ = {DType::boolean, broadcast(full, recipe_.mask_broadcast),
           static_cast<Layout>(between(random, 0, kLayouts - 1)), 1};
  mask_.fill([&](std::uint8_t& bit) { bit = chance(random, visible); });
  const auto [b, h, n, keys] = mask_.shape();
  if (recipe_.mask == MaskKind::some_rows_empty && b * h * n > 0) {
    for (std::int64_t row = 0; row < n; row += 2) {
      for (std::int64_t j = 0; j < keys; ++j) mask_.at(0, 0, row, j) = 0;
    }
  }
  problem_.mask = mask_.view();
}

void RandomProblem::make_bias(std::mt19937_64& random) {
  const Shape4 full{recipe_.batch, recipe_.query_heads(), recipe_.queries, recipe_.keys};
  std::normal_distribution<float> normal(0, 2);
  bias_ = {DType::f32, broadcast(full, recipe_.bias_broadcast), static_cast<Layout>(between(random, 0, kLayouts - 1)),
           kNan};
  bias_.fill([&](float& x) {
    x = normal(random);
    if (recipe_.bias == BiasKind::some_hidden && chance(random, 0.4)) x = -kInf;
    if (recipe_.bias == BiasKind::lowest_float && chance(random, 0.7)) x = kLowest;
  });
  problem_.bias = bias_.view();
}

void RandomProblem::make_sequences(std::mt19937_64& random) {
  for (std::int64_t b = 0; b < recipe_.batch; ++b) {
    SequenceSpan span;
    span.key_count = chance(random, 0.3) ? -1 : between(random, 0, recipe_.keys);
    span.key_position = chance(random, 0.5) ? 0 : between(random, 1, 9000);
    if (chance(random, 0.5)) span.query_position = span.key_position + between(random, -5, recipe_.keys);
    sequences_.push_back(span);
  }
  problem_.sequences = sequences_;
}

// For each [batch, kv head, key]: whether any query sees it. Width 1 and zeros make scores nothing but bias and mask.
std::vector<bool> RandomProblem::seen_keys() const {
  const float zero = 0;
  AttentionProblem bare = problem_;
  for (TensorView* view : {&bare.q, &bare.k, &bare.v}) {
    view->data = &zero;
    view->shape[3] = 1;
    view->strides = {};
  }
  const auto scores = reference::attention(bare).scores;
  const std::int64_t heads = recipe_.query_heads(), queries = recipe_.queries, keys = recipe_.keys;
  std::vector<bool> seen(recipe_.batch * recipe_.kv_heads * keys);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::int64_t j = static_cast<std::int64_t>(i) % keys, plane = static_cast<std::int64_t>(i) / keys / queries;
    const std::int64_t b = plane / heads, kv_head = plane % heads / recipe_.group;
    if (scores[i] != -kInf) seen[(b * recipe_.kv_heads + kv_head) * keys + j] = true;
  }
  return seen;
}

// NaN and infinities in K and V where no query looks, and, for Poison::visible, here and there where one does.
void RandomProblem::poison(std::mt19937_64& random) {
  const auto seen = seen_keys();
  const auto shared = [](Layout layout) { return layout == Layout::shared_batch || layout == Layout::shared_heads; };
  std::size_t index = 0;
  for (std::int64_t b = 0; b < recipe_.batch; ++b) {
    for (std::int64_t h = 0; h < recipe_.kv_heads; ++h) {
      for (std::int64_t j = 0; j < recipe_.keys; ++j, ++index) {
        const bool visible = seen[index];
        if (visible && (recipe_.poison == Poison::hidden || !chance(random, 0.01))) continue;
        const float bad = visible || chance(random, 0.6) ? kNan : chance(random, 0.5) ? kInf : -kInf;
        const bool in_k = visible ? chance(random, 0.5) : true, in_v = visible ? !in_k : true;
        if (in_k && !shared(recipe_.k)) k_.at(b, h, j, between(random, 0, recipe_.width - 1)) = bad;
        if (in_v && !shared(recipe_.v)) v_.at(b, h, j, between(random, 0, recipe_.value_width - 1)) = bad;
      }
    }
  }
  if (recipe_.poison == Poison::visible && recipe_.queries > 0 && q_.shape()[0] > 0 && chance(random, 0.5)) {
    q_.at(0, 0, between(random, 0, recipe_.queries - 1), 0) = kNan;
  }
}

}  // namespace sightline::testing
