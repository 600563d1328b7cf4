#include "tests/attention/random_problem.h"

#include <cmath>
#include <limits>

#include "src/attention/reference.h"
#include "tests/attention/formats.h"

namespace sightline::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLowest = std::numeric_limits<float>::lowest();

// Purposes of ProblemRecipe::numbers().
enum Purpose : std::uint64_t { kOperands = 2, kMask, kBias, kPoison };

Shape4 broadcast(Shape4 shape, int axes) {
  for (int axis = 0; axis < 4; ++axis) {
    if (axes >> axis & 1) shape[axis] = 1;
  }
  return shape;
}

DType float_type(const ProblemRecipe& recipe) {
  if (!recipe.has(Feature::half_inputs)) return DType::f32;
  std::mt19937_64 random = recipe.numbers(Feature::half_inputs);
  return chance(random, 0.5) ? DType::f16 : DType::bf16;
}

DType key_type(const ProblemRecipe& recipe) {
  if (!recipe.has(Feature::quantised_keys)) return float_type(recipe);
  std::mt19937_64 random = recipe.numbers(Feature::quantised_keys);
  return chance(random, 0.5) ? DType::i8_row : DType::q4_1;
}

}  // namespace

RandomProblem::RandomProblem(const ProblemRecipe& recipe) : recipe_(recipe), sequences_(recipe) {
  problem_.scale = recipe.scale;
  problem_.causal = recipe.causal;
  problem_.alignment = recipe.alignment;
  problem_.q.shape = {recipe.batch, recipe.query_heads(), recipe.queries, recipe.width};
  problem_.k.shape = {recipe.batch, recipe.kv_heads, recipe.keys, recipe.width};
  problem_.v.shape = {recipe.batch, recipe.kv_heads, recipe.keys, recipe.value_width};
  if (recipe.mask != MaskKind::none) make_mask();
  if (recipe.bias != BiasKind::none) make_bias();
  sequences_.apply(problem_);
  features_.apply(recipe, problem_);
  if (recipe.has(Feature::pages)) make_paging();
  Numbers numbers = make_numbers();
  if (recipe.poison != Poison::none) poison(numbers);
  store(numbers);
}

std::int64_t key_plane(const AttentionProblem& problem, const reference::Query& query) {
  return !problem.cu_seqlens_q.empty() && problem.cu_seqlens_k.empty() ? query.sequence : query.b;
}

Strided<float> RandomProblem::make_output() const {
  const Shape4 shape{recipe_.batch, recipe_.query_heads(), recipe_.queries, recipe_.value_width};
  return {DType::f32, shape, recipe_.out, 7.5e8f};
}

RandomProblem::Numbers RandomProblem::make_numbers() const {
  std::mt19937_64 random = recipe_.numbers(kOperands);
  std::normal_distribution<float> normal;
  const auto make = [&](const TensorView& view, float magnitude) {
    Strided<float> tensor(DType::f32, view.shape, Layout::dense, kNan);
    tensor.fill([&](float& x) { x = normal(random) * magnitude; });
    return tensor;
  };
  Numbers numbers;
  numbers.q = make(problem_.q, recipe_.magnitude);
  TensorView k = problem_.k, v = problem_.v;
  k.shape[0] = v.shape[0] = sequences_.key_planes();
  numbers.k = make(k, recipe_.magnitude);
  numbers.v = make(v, 1);
  return numbers;
}

void RandomProblem::make_mask() {
  std::mt19937_64 random = recipe_.numbers(kMask);
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

void RandomProblem::make_bias() {
  std::mt19937_64 random = recipe_.numbers(kBias);
  const Shape4 shape =
      broadcast({recipe_.batch, recipe_.query_heads(), recipe_.queries, recipe_.keys}, recipe_.bias_broadcast);
  const auto layout = static_cast<Layout>(between(random, 0, kLayouts - 1));
  std::normal_distribution<float> normal(0, 2);
  const auto any = [&] {
    const float x = normal(random);
    if (recipe_.bias == BiasKind::some_hidden && chance(random, 0.4)) return -kInf;
    return recipe_.bias == BiasKind::lowest_float && chance(random, 0.7) ? kLowest : x;
  };
  if (!recipe_.has(Feature::half_bias)) {
    bias_ = {DType::f32, shape, layout, kNan};
    bias_.fill([&](float& x) { x = any(); });
    problem_.bias = bias_.view();
    return;
  }
  const bool brain = chance(random, 0.5);
  half_bias_ = {brain ? DType::bf16 : DType::f16, shape, layout, 0x7FFF};
  half_bias_.fill([&](std::uint16_t& x) { x = brain ? to_bf16(any()) : to_f16(any()); });
  problem_.bias = half_bias_.view();
}

void RandomProblem::make_paging() {
  std::mt19937_64 random = recipe_.numbers(Feature::pages);
  constexpr std::int64_t kSizes[] = {16, 17, 64, 100};
  const std::int64_t size = kSizes[between(random, 0, 3)];
  paging_.emplace(sequences_.lengths(), size, chance(random, 0.4), random);
}

void RandomProblem::store(const Numbers& numbers) {
  q_ = Operand(numbers.q, float_type(recipe_), recipe_.q);
  k_ = store_keys(numbers.k, recipe_.k, key_type(recipe_));
  v_ = store_keys(numbers.v, recipe_.v, key_type(recipe_));
  problem_.q = q_.view();
  problem_.k = k_.view();
  problem_.v = v_.view();
  if (!paging_) return;
  problem_.k.shape[0] = problem_.v.shape[0] = recipe_.batch;
  problem_.pages = paging_->view();
  problem_.pages.k_page_stride = problem_.k.strides[0];
  problem_.pages.v_page_stride = problem_.v.strides[0];
  problem_.k.strides[0] = problem_.v.strides[0] = INT64_MIN / 4;  // is not to be read
}

Operand RandomProblem::store_keys(const Strided<float>& numbers, Layout layout, DType dtype) const {
  if (!paging_) return {numbers, dtype, layout};
  return {numbers, dtype, layout, *paging_, [this](std::int64_t b, std::int64_t j) {
            const auto [sequence, n] = sequences_.of_key(b, j);
            const auto [page, slot] = paging_->locate(sequence, n);
            return Operand::Place{page, slot};
          }};
}

// For each [set of keys, kv head, key]: whether any query sees it. Width 1 and zeros make scores nothing but bias and
// mask.
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
  std::vector<bool> seen(sequences_.key_planes() * recipe_.kv_heads * keys);
  for (std::int64_t row = 0; row < recipe_.batch * heads * queries; ++row) {
    const auto query = reference::locate(problem_, row / queries / heads, row / queries % heads, row % queries);
    const std::int64_t plane = key_plane(problem_, query) * recipe_.kv_heads + query.kv_head;
    for (std::int64_t j = 0; j < keys; ++j) {
      if (scores[row * keys + j] != -kInf) seen[plane * keys + j] = true;
    }
  }
  return seen;
}

// Whether what is stored for key j of one head may be what another sees.
bool RandomProblem::shares_memory(std::int64_t b, std::int64_t j, Layout layout) const {
  if (!paging_) return layout == Layout::shared_batch || layout == Layout::shared_heads;
  const auto [sequence, n] = sequences_.of_key(b, j);
  const std::int64_t page = paging_->locate(sequence, n).first;
  return page >= 0 && paging_->is_shared(page);
}

// NaN and infinities in K and V where no query looks, and, for Poison::visible, here and there where one does.
void RandomProblem::poison(Numbers& numbers) const {
  std::mt19937_64 random = recipe_.numbers(kPoison);
  const auto seen = seen_keys();
  std::size_t index = 0;
  for (std::int64_t b = 0; b < sequences_.key_planes(); ++b) {
    for (std::int64_t h = 0; h < recipe_.kv_heads; ++h) {
      for (std::int64_t j = 0; j < recipe_.keys; ++j, ++index) {
        const bool visible = seen[index];
        if (visible && (recipe_.poison == Poison::hidden || !chance(random, 0.01))) continue;
        const float bad = visible || chance(random, 0.6) ? kNan : chance(random, 0.5) ? kInf : -kInf;
        const bool in_k = visible ? chance(random, 0.5) : true, in_v = visible ? !in_k : true;
        const std::int64_t at = between(random, 0, recipe_.width - 1),
                           at_v = between(random, 0, recipe_.value_width - 1);
        if (in_k && !shares_memory(b, j, recipe_.k)) numbers.k.at(b, h, j, at) = bad;
        if (in_v && !shares_memory(b, j, recipe_.v)) numbers.v.at(b, h, j, at_v) = bad;
      }
    }
  }
  if (recipe_.poison == Poison::visible && recipe_.queries > 0 && recipe_.batch > 0 && chance(random, 0.5)) {
    numbers.q.at(0, 0, between(random, 0, recipe_.queries - 1), 0) = kNan;
  }
}

}  // namespace sightline::testing
