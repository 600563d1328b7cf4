#include "tools/conform/engine.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "src/attention/reference.h"
#include "src/cpu/target.h"

namespace sightline::conform {
namespace {

Shape map_shape(const AttentionProblem& p) { return {p.q.shape[0], p.q.shape[1], p.q.shape[2], p.k.shape[2]}; }

Array widen(Shape shape, const std::vector<float>& values) {
  return {std::move(shape), std::vector<double>(values.begin(), values.end())};
}

std::vector<float> tiles(const AttentionProblem& p, const RowState& state, Stage stage) {
  const Shape shape = map_shape(p);
  std::vector<float> map(element_count(shape));
  if (map.empty()) return map;
  float* to = map.data();
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h, to += shape[2] * shape[3]) {
      tile(p, state, {b, h, 0, shape[2], 0, shape[3]}, stage, to);
    }
  }
  return map;
}

// Buffers for an AttentionCall, filled with a value that no case expects, so that what is left unwritten shows.
struct Buffers {
  static constexpr float kUnwritten = 7.5e8f;
  Shape rows;  // [B, Hq, Nq]
  std::vector<float> out, max, sum, lse, entropy, mass, topk_weight, row_weights;
  std::vector<std::int32_t> topk_index;
  std::vector<std::int64_t> chosen;

  Buffers(const AttentionProblem& p, const AttentionCall& call)
      : rows{p.q.shape[0], p.q.shape[1], p.q.shape[2]}, topk_index(element_count(rows) * call.top_k, -2) {
    for (auto* values : {&max, &sum, &lse, &entropy}) values->assign(element_count(rows), kUnwritten);
    out.assign(element_count(rows) * p.v.shape[3], kUnwritten);
    mass.assign(rows[0] * rows[1] * p.k.shape[2], kUnwritten);
    topk_weight.assign(topk_index.size(), kUnwritten);
    row_weights.assign(element_count(rows) * p.k.shape[2], kUnwritten);
    chosen.resize(rows[2]);
    std::iota(chosen.begin(), chosen.end(), 0);
  }

  Observations request(int top_k) {
    Observations see;
    see.row_max = max.data();
    see.row_sum = sum.data();
    see.lse = lse.data();
    see.entropy = entropy.data();
    see.top_k = top_k;
    see.topk_index = topk_index.data();
    see.topk_weight = topk_weight.data();
    see.key_mass = mass.data();
    see.rows = chosen;
    see.row_weights = row_weights.data();
    return see;
  }
};

AttentionValues run_kernel(const AttentionProblem& p, const AttentionCall& call) {
  Buffers buffers(p, call);
  const auto& rows = buffers.rows;
  MutableTensorView out = dense_view(buffers.out.data(), {rows[0], rows[1], rows[2], p.v.shape[3]});
  if (call.out_strides != std::array<std::int64_t, 4>{}) out.strides = call.out_strides;
  attention(p, out, buffers.request(call.top_k), {call.threads});

  const Shape map = map_shape(p), out_shape(out.shape.begin(), out.shape.end());
  AttentionValues values;
  values.out = take(widen(out_shape, buffers.out), {0, out_shape, {out.strides.begin(), out.strides.end()}});
  values.lse = widen(rows, buffers.lse);
  values.row_max = widen(rows, buffers.max);
  values.entropy = widen(rows, buffers.entropy);
  values.column_mass = widen({map[0], map[1], map[3]}, buffers.mass);
  values.topk_weight = widen({map[0], map[1], map[2], call.top_k}, buffers.topk_weight);
  values.topk_index.assign(buffers.topk_index.begin(), buffers.topk_index.end());
  values.weights = widen(map, tiles(p, {buffers.max.data(), buffers.sum.data()}, Stage::weights));
  values.row_weights = widen(map, buffers.row_weights);
  return values;
}

// The largest weights of each row, ties by lower key, straight from the definition.
void rank(AttentionValues& values, std::int64_t top_k) {
  const std::int64_t keys = values.weights.shape[3], rows = element_count(values.lse.shape);
  Shape shape = values.lse.shape;
  shape.push_back(top_k);
  values.topk_weight = {shape, std::vector<double>(rows * top_k, 0)};
  values.topk_index.assign(rows * top_k, -1);
  std::vector<std::int64_t> order(keys);
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* weight = values.weights.values.data() + row * keys;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return weight[a] > weight[b]; });
    for (std::int64_t r = 0; r < std::min(top_k, keys) && weight[order[r]] > 0; ++r) {
      values.topk_weight.values[row * top_k + r] = weight[order[r]];
      values.topk_index[row * top_k + r] = order[r];
    }
  }
}

AttentionValues run_reference(const AttentionProblem& p, const AttentionCall& call) {
  const auto result = reference::attention(p);
  const Shape map = map_shape(p), rows{map[0], map[1], map[2]};
  AttentionValues values;
  values.out = {{map[0], map[1], map[2], p.v.shape[3]}, result.out};
  values.lse = {rows, result.lse};
  values.row_max = {rows, result.row_max};
  values.entropy = {rows, result.entropy};
  values.weights = values.row_weights = {map, result.weights};
  values.column_mass = {{map[0], map[1], map[3]}, std::vector<double>(map[0] * map[1] * map[3], 0)};
  for (std::int64_t row = 0; row < element_count(rows); ++row) {
    for (std::int64_t j = 0; j < map[3]; ++j) {
      values.column_mass.values[row / std::max<std::int64_t>(map[2], 1) * map[3] + j] +=
          result.weights[row * map[3] + j];
    }
  }
  rank(values, call.top_k);
  return values;
}

// Stages before the mask: the same problem without what comes after them.
Array reference_stage(const AttentionProblem& p, Stage stage) {
  AttentionProblem part = p;
  if (stage != Stage::biased) {
    part.bias = part.mask = {};
    part.alibi_slopes = {};
    part.sequences = {};
    part.causal = false;
    part.window_left = part.window_right = -1;
  }
  if (stage == Stage::raw) part.softcap = 0;
  return {map_shape(p), reference::attention(part).scores};
}

Engine kernel_engine(const std::string& target) {
  return {target,
          [target](const AttentionProblem& p, const AttentionCall& call) {
            cpu::force_target(target);
            return run_kernel(p, call);
          },
          [target](const AttentionProblem& p, Stage stage) {
            cpu::force_target(target);
            return widen(map_shape(p), tiles(p, {}, stage));
          },
          true};
}

}  // namespace

std::vector<Engine> kernel_engines() {
  std::vector<Engine> engines;
  if (std::getenv("SIGHTLINE_TARGET") != nullptr) {
    engines.push_back(kernel_engine(simd_target()));
  } else {
    for (const std::string& target : simd_targets()) engines.push_back(kernel_engine(target));
  }
  return engines;
}

Engine reference_engine() { return {"reference", run_reference, reference_stage, false}; }

}  // namespace sightline::conform
