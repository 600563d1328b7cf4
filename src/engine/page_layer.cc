#include "src/engine/page_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "sightline/error.h"
#include "src/engine/look_data.h"
#include "src/engine/report_fields.h"
#include "src/engine/visible_keys.h"
#include "src/format/base64.h"
#include "src/format/deflate.h"
#include "src/tensor/element.h"

namespace sightline::engine {
namespace {

// Weights that are compared with the exact ones, at most: 2^26 take about a second. Of a longer map every so many rows.
constexpr std::int64_t kMeasured = std::int64_t{1} << 26;

// Bits of a number in fixed point: the first that weights stay near enough with. 12 or 13 do for most layers; outliers,
// which widen the steps of a channel, may take all that two bytes hold.
constexpr int kBits[] = {12, 13, 14, 16};
constexpr int kMostBits = 16;

// The heads' rows of a dense tensor [1, H, rows, width] as fp32, [heads, rows, width].
std::vector<float> rows_of_heads(const TensorView& view, const std::vector<std::int64_t>& heads) {
  const std::int64_t size = view.shape[2] * view.shape[3];
  const auto bytes = static_cast<std::int64_t>(dtype_size(view.dtype));
  const auto* data = static_cast<const std::byte*>(view.data);
  std::vector<float> values;
  values.reserve(heads.size() * static_cast<std::size_t>(size));
  for (const std::int64_t head : heads) {
    for (std::int64_t i = head * size; i < (head + 1) * size; ++i) {
      values.push_back(element_as_f32(view.dtype, data + i * bytes));
    }
  }
  return values;
}

// Numbers of a channel, which is a column of one head, as centre + step * integer. Beside fp16, whose error grows with
// the number, the same bytes give a third of the error in a weight, as the largest products decide a score
// (docs/page.md); channels differ much in range, so that one step for all would not do.
struct FixedPoint {
  std::vector<float> centre, step;      // [heads, width]
  std::vector<std::uint16_t> integers;  // [heads, rows, width], 2^15 added
};

// Makes values[i], `count` of them `stride` apart, what fixed point keeps of them.
void fix_channel(float* values, std::int64_t count, std::int64_t stride, int bits, FixedPoint& fixed,
                 std::uint16_t* integers) {
  float low = values[0], high = values[0];
  for (std::int64_t i = 0; i < count; ++i) {
    low = std::min(low, values[i * stride]);
    high = std::max(high, values[i * stride]);
  }
  const float centre = low / 2 + high / 2;
  const double half_range = std::max(high - centre, centre - low), most = (1 << (bits - 1)) - 1;
  const auto step = static_cast<float>(half_range / most);
  for (std::int64_t i = 0; i < count; ++i) {
    const double exact = step == 0 ? 0 : (values[i * stride] - double{centre}) / step;
    const double number = std::round(std::clamp(exact, -most, most));
    integers[i * stride] = static_cast<std::uint16_t>(number + 0x8000);
    values[i * stride] = static_cast<float>(centre + step * number);
  }
  fixed.centre.push_back(centre);
  fixed.step.push_back(step);
}

// values: [heads, rows, width]; afterwards what the page will read.
FixedPoint fixed_point(std::vector<float>& values, std::int64_t rows, std::int64_t width, int bits) {
  FixedPoint fixed;
  fixed.integers.resize(values.size());
  for (std::size_t head = 0; head < values.size(); head += static_cast<std::size_t>(rows * width)) {
    for (std::int64_t d = 0; d < width; ++d) {
      const std::size_t at = head + static_cast<std::size_t>(d);
      fix_channel(values.data() + at, rows, width, bits, fixed, fixed.integers.data() + at);
    }
  }
  return fixed;
}

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

// What a page keeps of a layer, in fp32.
struct Arrays {
  std::vector<float> q, k, v;                // [heads, rows, D], [kv heads, keys, D], [kv heads, keys, Dv] or empty
  std::vector<float> row_max, row_sum, lse;  // [heads, rows]
  std::vector<float> sinks;                  // [heads], or empty
  std::vector<std::int64_t> heads;           // from 0
  std::vector<std::int64_t> kv_heads;        // of the layer, from 0, that these heads read
  std::vector<std::int64_t> kv_of_heads;     // index into kv_heads, a head
  std::vector<std::vector<EdgeCut>> cuts;    // a head
};

Arrays arrays_of(const LayerRecord& layer, const std::vector<int>& heads, bool values) {
  const AttentionProblem& problem = layer.stored.problem();
  const std::int64_t group = problem.q.shape[1] / problem.k.shape[1];
  Arrays arrays;
  for (const int head : heads) {
    arrays.heads.push_back(head - 1);
    const std::int64_t kv = (head - 1) / group;
    if (arrays.kv_heads.empty() || arrays.kv_heads.back() != kv) arrays.kv_heads.push_back(kv);
    arrays.cuts.push_back(cuts_of_head(problem.cuts, head - 1));
    arrays.kv_of_heads.push_back(static_cast<std::int64_t>(arrays.kv_heads.size()) - 1);
    const auto at = [&](const std::vector<float>& all) { return all.begin() + (head - 1) * layer.rows; };
    arrays.row_max.insert(arrays.row_max.end(), at(layer.row_max), at(layer.row_max) + layer.rows);
    arrays.row_sum.insert(arrays.row_sum.end(), at(layer.row_sum), at(layer.row_sum) + layer.rows);
    arrays.lse.insert(arrays.lse.end(), at(layer.lse), at(layer.lse) + layer.rows);
  }
  for (const std::int64_t head : arrays.heads) {
    if (!layer.rule.sinks.empty()) arrays.sinks.push_back(layer.rule.sinks[static_cast<std::size_t>(head)]);
  }
  arrays.q = rows_of_heads(problem.q, arrays.heads);
  arrays.k = rows_of_heads(problem.k, arrays.kv_heads);
  if (values) arrays.v = rows_of_heads(problem.v, arrays.kv_heads);
  return arrays;
}

// The layer's problem for one of the kept heads, on these arrays.
AttentionProblem problem_of(const LayerRecord& layer, const Arrays& arrays, std::size_t head) {
  AttentionProblem one = layer.stored.problem();
  const std::int64_t width = one.q.shape[3];
  one.q = dense_view(arrays.q.data() + static_cast<std::int64_t>(head) * layer.rows * width, {1, 1, layer.rows, width});
  one.k = dense_view(arrays.k.data() + arrays.kv_of_heads[head] * layer.keys * width, {1, 1, layer.keys, width});
  one.v = one.k;  // nothing is mixed
  one.cuts = arrays.cuts[head];
  if (!arrays.sinks.empty()) one.sinks = std::span(arrays.sinks).subspan(head, 1);
  return one;
}

// The row states of what the arrays give, so that rows of the page sum to 1. Returns the largest difference of a weight
// from what `exact` gives.
float observe_rounded(const LayerRecord& layer, int threads, const Arrays& exact, Arrays& arrays) {
  const std::int64_t heads = static_cast<std::int64_t>(arrays.heads.size());
  const std::int64_t step = std::max<std::int64_t>(1, heads * layer.rows * layer.keys / kMeasured);
  std::vector<float> was(static_cast<std::size_t>(layer.keys)), is = was;
  float largest = 0;
  for (std::size_t head = 0; head < arrays.heads.size(); ++head) {
    const std::size_t at = head * static_cast<std::size_t>(layer.rows);
    const AttentionProblem before = problem_of(layer, exact, head), after = problem_of(layer, arrays, head);
    Observations see;
    see.row_max = arrays.row_max.data() + at;
    see.row_sum = arrays.row_sum.data() + at;
    see.lse = arrays.lse.data() + at;
    attention(after, {}, see, {threads});
    for (std::int64_t row = 0; row < layer.rows; row += step) {
      const TileRange range{0, 0, row, row + 1, 0, layer.keys};
      tile(before, {exact.row_max.data() + at, exact.row_sum.data() + at}, range, Stage::weights, was.data());
      tile(after, {see.row_max, see.row_sum}, range, Stage::weights, is.data());
      for (std::size_t j = 0; j < was.size(); ++j) {
        // What is not finite is no number to be within anything of: such a layer stays as it is.
        const float difference = std::abs(was[j] - is[j]);
        largest = difference <= largest ? largest : std::isnan(difference) ? INFINITY : difference;
      }
    }
  }
  return largest;
}

// Planes of the numbers' bytes, highest first: what numbers of a kind have in common packs better side by side.
template <class Bits>
void add_planes(std::span<const Bits> values, std::vector<std::byte>& out) {
  for (int shift = 8 * (int{sizeof(Bits)} - 1); shift >= 0; shift -= 8) {
    for (const Bits x : values) out.push_back(static_cast<std::byte>(x >> shift & 0xFF));
  }
}

void add_planes(std::span<const float> values, std::vector<std::byte>& out) {
  std::vector<std::uint32_t> bits;
  for (const float x : values) bits.push_back(std::bit_cast<std::uint32_t>(x));
  add_planes(std::span<const std::uint32_t>(bits), out);
}

// Has the row states count the heads' sinks, so that a weight is exp(score - max) / sum in every model.
void count_sinks(Arrays& arrays) {
  const std::size_t rows = arrays.sinks.empty() ? 0 : arrays.row_max.size() / arrays.sinks.size();
  for (std::size_t i = 0; i < rows * arrays.sinks.size(); ++i) {
    const double sink = arrays.sinks[i / rows], most = std::max<double>(arrays.row_max[i], sink);
    const double sum = arrays.row_sum[i] * std::exp(arrays.row_max[i] - most) + std::exp(sink - most);
    arrays.row_max[i] = static_cast<float>(most);
    arrays.row_sum[i] = static_cast<float>(sum);
  }
}

// Q, K and V as they are, and the row states: largest score and sum.
std::vector<std::byte> planes_of(Arrays arrays) {
  count_sinks(arrays);
  std::vector<std::byte> bytes;
  for (const auto* values : {&arrays.q, &arrays.k, &arrays.v, &arrays.row_max, &arrays.row_sum}) {
    add_planes(*values, bytes);
  }
  return bytes;
}

// Replaces the arrays by what fixed point keeps of them and fills `bytes`; false, and nothing changes, where weights
// would be farther than kPageWithin from the exact ones. A row's state is its log-sum-exp alone, which is precise
// enough here and half as long.
bool fix_layer(const LayerRecord& layer, int threads, int bits, const Arrays& exact, PageLayer& page,
               std::vector<std::byte>& bytes) {
  Arrays arrays = exact;
  const std::int64_t width = layer.stored.problem().q.shape[3], value_width = layer.stored.problem().v.shape[3];
  const FixedPoint fixed[] = {fixed_point(arrays.q, layer.rows, width, bits),
                              fixed_point(arrays.k, layer.keys, width, bits),
                              fixed_point(arrays.v, layer.keys, value_width, kMostBits)};
  page.within = observe_rounded(layer, threads, exact, arrays);
  if (!(page.within <= kPageWithin)) return false;
  for (const FixedPoint& numbers : fixed) {
    add_planes(std::span<const std::uint16_t>(numbers.integers), bytes);
    add_planes(numbers.centre, bytes);
    add_planes(numbers.step, bytes);
  }
  add_planes(arrays.lse, bytes);
  return true;
}

ReportJson facts_of(const LayerRecord& layer, const Arrays& arrays, const std::vector<int>& heads, bool fixed) {
  const AttentionProblem& problem = layer.stored.problem();
  ReportJson score = score_json(layer.rule);
  if (!arrays.sinks.empty()) score["sinks"] = arrays.sinks;
  return {{"layer", layer.layer},
          {"heads", heads},
          {"kv_of_heads", arrays.kv_of_heads},
          {"kv_heads", arrays.kv_heads.size()},
          {"rows", layer.rows},
          {"keys", layer.keys},
          {"width", problem.q.shape[3]},
          {"value_width", arrays.v.empty() ? 0 : problem.v.shape[3]},
          {"type", fixed ? "I16" : "F32"},
          {"score", std::move(score)}};
}

}  // namespace

PageLayer page_layer(const Look& look, int layer, const std::vector<int>& heads, const PageLayerOptions& options) {
  const LayerRecord& record = look.data().layer_of({layer, heads.front()});
  const Arrays arrays = arrays_of(record, heads, options.values);
  PageLayer page;
  std::vector<std::byte> bytes;
  bool fixed = false;
  if (!options.exact && all_finite(arrays.q) && all_finite(arrays.k) && all_finite(arrays.v)) {
    fixed = std::ranges::any_of(
        kBits, [&](int bits) { return fix_layer(record, look.data().threads, bits, arrays, page, bytes); });
  }
  if (!fixed) {
    page.within = 0;
    bytes = planes_of(arrays);
  }
  page.facts = facts_of(record, arrays, heads, fixed);
  page.base64 = format::base64(format::deflated(bytes));
  return page;
}

}  // namespace sightline::engine
