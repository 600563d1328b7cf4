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
  std::vector<float> out, max, sum, lse, entropy, sink_weight, entropy_with_sink, mass, topk_weight, row_weights;
  std::vector<std::int32_t> topk_index;
  std::vector<std::int64_t> chosen;

  Buffers(const AttentionProblem& p, const AttentionCall& call)
      : rows{p.q.shape[0], p.q.shape[1], p.q.shape[2]}, topk_index(element_count(rows) * call.top_k, -2) {
    for (auto* values : {&max, &sum, &lse, &entropy}) values->assign(element_count(rows), kUnwritten);
    if (!p.sinks.empty()) {
      for (auto* values : {&sink_weight, &entropy_with_sink}) values->assign(element_count(rows), kUnwritten);
    }
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
    if (!sink_weight.empty()) {
      see.sink_weight = sink_weight.data();
      see.entropy_with_sink = entropy_with_sink.data();
    }
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
  if (!p.sinks.empty()) {
    values.sink_weight = widen(rows, buffers.sink_weight);
    values.entropy_with_sink = widen(rows, buffers.entropy_with_sink);
  }
  values.column_mass = widen({map[0], map[1], map[3]}, buffers.mass);
  values.topk_weight = widen({map[0], map[1], map[2], call.top_k}, buffers.topk_weight);
  values.topk_index.assign(buffers.topk_index.begin(), buffers.topk_index.end());
  values.weights = widen(map, tiles(p, {buffers.max.data(), buffers.sum.data()}, Stage::weights));
  values.row_weights = widen(map, buffers.row_weights);
  return values;
}

AttentionValues run_reference(const AttentionProblem& p, const AttentionCall& call) {
  Buffers buffers(p, call);
  const auto result = reference::attention(p);
  const auto seen = reference::observe(p, result, buffers.request(call.top_k));
  const Shape map = map_shape(p), rows{map[0], map[1], map[2]};
  AttentionValues values;
  values.out = {{map[0], map[1], map[2], p.v.shape[3]}, result.out};
  values.lse = {rows, result.lse};
  values.row_max = {rows, result.row_max};
  values.entropy = {rows, result.entropy};
  values.sink_weight = {rows, result.sink_weight};
  values.entropy_with_sink = {rows, result.entropy_with_sink};
  values.weights = {map, result.weights};
  values.row_weights = {map, seen.row_weights};
  values.column_mass = {{map[0], map[1], map[3]}, seen.key_mass};
  values.topk_weight = {{map[0], map[1], map[2], call.top_k}, seen.topk_weight};
  values.topk_index = seen.topk_index;
  return values;
}

Array reference_stage(const AttentionProblem& p, Stage stage) { return {map_shape(p), reference::scores(p, stage)}; }

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
          true,
          [target](const AttentionProblem& p, const TensorView& dout) {
            cpu::force_target(target);
            return kernel_gradients(p, dout);
          }};
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

Engine reference_engine() { return {"reference", run_reference, reference_stage, false, reference_gradients}; }

}  // namespace sightline::conform
