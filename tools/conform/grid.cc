// attention/index.json, "grid": the operator's own cases. README.md of the conformance set describes the files.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "src/format/json.h"
#include "tools/conform/attention_checks.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// One attention problem of a case: the whole of it, or one sequence of a packed batch.
struct Part {
  AttentionProblem problem;
  std::array<std::int64_t, 4> out_strides{};
  Slice out, rows, columns, topk;  // where its expectations lie
  std::string weights;             // tensor that holds its map
};

// A case's file with all that its problems point into.
class GridCase {
 public:
  GridCase(const json& entry, const format::SafetensorsFile& file);

  std::vector<Part> parts() const;
  Array expected(const std::string& name) const { return to_array(file_.at("expected." + name)); }
  bool has(const std::string& name) const { return file_.find("expected." + name) != nullptr; }
  double tolerance(const std::string& name) const { return entry_.at("tolerance").at(name).get<double>(); }

 private:
  TensorView operand(const std::string& name) const;
  Part whole() const;
  Part packed(std::size_t sequence) const;
  const Input& input(const std::string& name) const { return inputs_.at(name); }
  std::vector<std::int64_t> integers(const std::string& name) const;

  const json& entry_;
  const format::SafetensorsFile& file_;
  std::string layout_;
  std::map<std::string, Input> inputs_;
  std::vector<SequenceSpan> sequences_;
  AttentionProblem settings_;
};

// [B, S, H, D] seen as [B, H, S, D].
void swap_heads(TensorView& view) {
  std::swap(view.shape[1], view.shape[2]);
  std::swap(view.strides[1], view.strides[2]);
}

GridCase::GridCase(const json& entry, const format::SafetensorsFile& file)
    : entry_(entry), file_(file), layout_(entry.at("layout")) {
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.starts_with("expected.")) inputs_.emplace(name, Input(tensor));
  }
  settings_.scale = entry.at("scale").get<float>();
  settings_.softcap = entry.at("softcap").get<float>();
  settings_.causal = entry.at("causal").get<bool>();
  settings_.alignment = entry.at("alignment") == "top_left" ? Alignment::top_left : Alignment::bottom_right;
  settings_.window_left = entry.at("window_left").get<std::int64_t>();
  settings_.window_right = entry.at("window_right").get<std::int64_t>();
  if (inputs_.contains("mask")) settings_.mask = input("mask").view();
  if (inputs_.contains("bias")) settings_.bias = input("bias").view();
  const std::size_t heads = entry.at("heads_q").get<std::size_t>();
  const auto floats = [&](const std::string& name) {
    return std::span(reinterpret_cast<const float*>(input(name).data()), heads);
  };
  if (inputs_.contains("alibi_slopes")) settings_.alibi_slopes = floats("alibi_slopes");
  if (inputs_.contains("sinks")) settings_.sinks = floats("sinks");
  if (inputs_.contains("kv_lens")) {
    for (const std::int64_t keys : integers("kv_lens")) sequences_.push_back({keys, 0, {}});
    settings_.sequences = sequences_;
  }
  for (const std::string name : {"k", "v"}) {  // cached keys come first
    if (!inputs_.contains("past_" + name)) continue;
    TensorView past = input("past_" + name).view(), now = input(name).view();
    if (layout_ == "bshd") {
      swap_heads(past);
      swap_heads(now);
    }
    inputs_.insert_or_assign("joined_" + name, concatenate(past, now));
  }
}

std::vector<std::int64_t> GridCase::integers(const std::string& name) const {
  const Array array = to_array(file_.at(name));
  return {array.values.begin(), array.values.end()};
}

TensorView GridCase::operand(const std::string& name) const {
  if (const json& views = entry_.at("views"); !views.is_null() && views.contains(name)) {
    const json& view = views.at(name);
    return input(view.at("storage")).view(view.at("shape"), view.at("strides"), view.at("offset"));
  }
  if (inputs_.contains("joined_" + name)) return input("joined_" + name).view();
  TensorView view = input(name).view();
  if (layout_ == "bshd") swap_heads(view);
  return view;
}

Slice all_of(const Shape& shape) { return {0, shape, dense_strides(shape)}; }

Part GridCase::whole() const {
  Part part{settings_, {}, {}, {}, {}, {}, "weights"};
  part.problem.q = operand("q");
  part.problem.k = operand("k");
  part.problem.v = operand("v");
  const auto [batch, heads, queries, width] = part.problem.q.shape;
  const std::int64_t keys = part.problem.k.shape[2], value_width = part.problem.v.shape[3];
  part.rows = all_of({batch, heads, queries});
  part.columns = all_of({batch, heads, keys});
  part.topk = all_of({batch, heads, queries, 4});
  part.out = all_of({batch, heads, queries, value_width});
  if (layout_ == "bshd") {
    part.out_strides = {queries * heads * value_width, value_width, heads * value_width, 1};
    part.out.strides.assign(part.out_strides.begin(), part.out_strides.end());
  }
  return part;
}

// Tokens of all sequences stand one after the other: [total, heads, width].
Part GridCase::packed(std::size_t sequence) const {
  const auto q_starts = integers("cu_seqlens_q"), k_starts = integers("cu_seqlens_k");
  const std::int64_t q_begin = q_starts.at(sequence), queries = q_starts.at(sequence + 1) - q_begin;
  const std::int64_t k_begin = k_starts.at(sequence), keys = k_starts.at(sequence + 1) - k_begin;
  const auto tokens = [&](const std::string& name, std::int64_t begin, std::int64_t count) {
    const Shape& shape = input(name).shape();
    const std::int64_t row = shape.at(1) * shape.at(2);
    return input(name).view({1, shape[1], count, shape[2]}, {0, shape[2], row, 1}, begin * row);
  };
  Part part{settings_, {}, {}, {}, {}, {}, fmt::format("weights.{}", sequence)};
  part.problem.q = tokens("q", q_begin, queries);
  part.problem.k = tokens("k", k_begin, keys);
  part.problem.v = tokens("v", k_begin, keys);
  const std::int64_t heads = part.problem.q.shape[1], value_width = part.problem.v.shape[3];
  part.rows = {q_begin, {1, heads, queries}, {0, q_starts.back(), 1}};
  part.columns = {k_begin, {1, heads, keys}, {0, k_starts.back(), 1}};
  part.topk = {q_begin * 4, {1, heads, queries, 4}, {0, q_starts.back() * 4, 4, 1}};
  part.out = {
      q_begin * heads * value_width, {1, heads, queries, value_width}, {0, value_width, heads * value_width, 1}};
  part.out_strides = {0, value_width, heads * value_width, 1};
  return part;
}

std::vector<Part> GridCase::parts() const {
  if (layout_ != "thd") return {whole()};
  std::vector<Part> parts;
  for (std::size_t n = 0; n < entry_.at("batch").get<std::size_t>(); ++n) parts.push_back(packed(n));
  return parts;
}

// exp(sink - lse): the weight that the sink took. Entropy with it counts its own -w ln w too.
void check_sinks(const GridCase& grid, const Part& part, const AttentionValues& got) {
  Array sink_weight = got.lse, entropy = got.entropy;
  const std::int64_t heads = part.problem.q.shape[1], queries = part.problem.q.shape[2];
  for (std::size_t row = 0; row < sink_weight.values.size(); ++row) {
    const double log_weight = part.problem.sinks[row / queries % heads] - got.lse.values[row];
    sink_weight.values[row] = std::exp(log_weight);
    entropy.values[row] -= sink_weight.values[row] * log_weight;
  }
  expect_close("sink_weight", sink_weight, take(grid.expected("sink_weight"), part.rows),
               {grid.tolerance("sink_weight")});
  expect_close("entropy_with_sink", entropy, take(grid.expected("entropy_with_sink"), part.rows),
               {grid.tolerance("entropy_with_sink")});
}

void check_part(const GridCase& grid, const Part& part, const Engine& engine) {
  const AttentionValues got = engine.run(part.problem, {4, 2, part.out_strides});
  expect_close("out", got.out, take(grid.expected("out"), part.out), {grid.tolerance("out")});
  expect_close("lse", got.lse, take(grid.expected("lse"), part.rows), {grid.tolerance("lse")});
  expect_close("row_max", got.row_max, take(grid.expected("row_max"), part.rows), {grid.tolerance("row_max")});
  expect_close("entropy", got.entropy, take(grid.expected("entropy"), part.rows), {grid.tolerance("entropy")});
  expect_close("column_mass", got.column_mass, take(grid.expected("column_mass"), part.columns),
               {grid.tolerance("column_mass")});
  check_topk(got, take(grid.expected("topk_index"), part.topk), take(grid.expected("topk_weight"), part.topk),
             {grid.tolerance("topk_weight")});
  check_consistency(got);
  if (grid.has(part.weights)) {
    Array weights = grid.expected(part.weights);
    weights.shape = got.weights.shape;  // of packed sequences the batch axis is left out
    expect_close("weights", got.weights, weights, {grid.tolerance("weights")});
  }
  if (!part.problem.sinks.empty()) check_sinks(grid, part, got);
}

}  // namespace

void run_attention_grid(Context& context, const std::filesystem::path& index, const std::string& prefix) {
  const json cases = format::read_json(index).at("grid");
  for (const json& entry : cases) {
    context.recorder.run(prefix + "/grid/" + entry.at("name").get<std::string>(), [&] {
      const auto file = format::SafetensorsFile::open(index.parent_path() / entry.at("file").get<std::string>());
      const GridCase grid(entry, file);
      context.on_each_engine([&](const Engine& engine) {
        for (const Part& part : grid.parts()) check_part(grid, part, engine);
      });
    });
  }
}

}  // namespace sightline::conform
