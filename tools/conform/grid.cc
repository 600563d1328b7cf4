// attention/index.json, "grid": the operator's own cases. README.md of the conformance set describes the files.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "src/format/json.h"
#include "tools/conform/attention_checks.h"
#include "tools/conform/paged.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// Where the expectations of a call lie: of the whole case, or of one sequence of a packed batch.
struct Place {
  Slice out, rows, columns, topk;
  std::string weights;  // tensor that holds the map
};

struct Call {
  AttentionProblem problem;
  std::array<std::int64_t, 4> out_strides{};
};

// One sequence of a packed batch: rows [q_begin, q_begin + queries), and its keys.
struct Sequence {
  std::int64_t q_begin, queries, k_begin, keys;
};

// A case's file with all that its problems point into.
class GridCase {
 public:
  GridCase(const json& entry, const format::SafetensorsFile& file);

  bool is_packed() const { return layout_ == "thd"; }
  const std::vector<Sequence>& packed_sequences() const { return packed_; }
  /// All in one call.
  Call whole() const;
  Place place() const;
  /// A packed sequence in a call of its own.
  Call alone(const Sequence& sequence) const;
  Place place(std::size_t sequence) const;

  Array expected(const std::string& name) const { return to_array(file_.at("expected." + name)); }
  bool has(const std::string& name) const { return file_.find("expected." + name) != nullptr; }
  double tolerance(const std::string& name) const { return entry_.at("tolerance").at(name).get<double>(); }

 private:
  void set_options();
  void join_past();
  void set_packed();
  TensorView operand(const std::string& name) const;
  TensorView tokens(const std::string& name, std::int64_t begin, std::int64_t count) const;
  const Input& input(const std::string& name) const { return inputs_.at(name); }
  std::vector<std::int32_t> integers(const std::string& name) const;

  const json& entry_;
  const format::SafetensorsFile& file_;
  std::string layout_;
  std::map<std::string, Input> inputs_;
  std::vector<SequenceSpan> sequences_;
  std::vector<std::int32_t> q_begins_, k_begins_;
  std::vector<Sequence> packed_;
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
  set_options();
  join_past();
  if (is_packed()) set_packed();
}

void GridCase::set_options() {
  settings_.scale = entry_.at("scale").get<float>();
  settings_.softcap = entry_.at("softcap").get<float>();
  settings_.causal = entry_.at("causal").get<bool>();
  settings_.alignment = entry_.at("alignment") == "top_left" ? Alignment::top_left : Alignment::bottom_right;
  settings_.window_left = entry_.at("window_left").get<std::int64_t>();
  settings_.window_right = entry_.at("window_right").get<std::int64_t>();
  if (inputs_.contains("mask")) settings_.mask = input("mask").view();
  if (inputs_.contains("bias")) settings_.bias = input("bias").view();
  const auto heads = entry_.at("heads_q").get<std::size_t>();
  const auto floats = [&](const std::string& name) {
    return std::span(reinterpret_cast<const float*>(input(name).data()), heads);
  };
  if (inputs_.contains("alibi_slopes")) settings_.alibi_slopes = floats("alibi_slopes");
  if (inputs_.contains("sinks")) settings_.sinks = floats("sinks");
  if (!inputs_.contains("kv_lens")) return;
  for (const std::int64_t keys : integers("kv_lens")) sequences_.push_back({keys, 0, {}});
  settings_.sequences = sequences_;
}

// Cached keys come first.
void GridCase::join_past() {
  for (const std::string name : {"k", "v"}) {
    if (!inputs_.contains("past_" + name)) continue;
    TensorView past = input("past_" + name).view(), now = input(name).view();
    if (layout_ == "bshd") {
      swap_heads(past);
      swap_heads(now);
    }
    inputs_.insert_or_assign("joined_" + name, concatenate(past, now));
  }
}

void GridCase::set_packed() {
  q_begins_ = integers("cu_seqlens_q");
  k_begins_ = integers("cu_seqlens_k");
  for (std::size_t s = 0; s + 1 < q_begins_.size(); ++s) {
    packed_.push_back({q_begins_[s], q_begins_[s + 1] - q_begins_[s], k_begins_[s], k_begins_[s + 1] - k_begins_[s]});
  }
}

std::vector<std::int32_t> GridCase::integers(const std::string& name) const {
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

// Tokens of all sequences stand one after the other: [total, heads, width].
TensorView GridCase::tokens(const std::string& name, std::int64_t begin, std::int64_t count) const {
  const Shape& shape = input(name).shape();
  const std::int64_t row = shape.at(1) * shape.at(2);
  return input(name).view({1, shape[1], count, shape[2]}, {0, shape[2], row, 1}, begin * row);
}

Call GridCase::whole() const {
  if (is_packed()) {
    Call call = alone({0, q_begins_.back(), 0, k_begins_.back()});
    call.problem.cu_seqlens_q = q_begins_;
    call.problem.cu_seqlens_k = k_begins_;
    return call;
  }
  Call call{settings_, {}};
  call.problem.q = operand("q");
  call.problem.k = operand("k");
  call.problem.v = operand("v");
  const std::int64_t heads = call.problem.q.shape[1], queries = call.problem.q.shape[2];
  const std::int64_t value_width = call.problem.v.shape[3];
  if (layout_ == "bshd") call.out_strides = {queries * heads * value_width, value_width, heads * value_width, 1};
  return call;
}

Place GridCase::place() const {
  const Call call = whole();
  const auto [batch, heads, queries, width] = call.problem.q.shape;
  const std::int64_t keys = call.problem.k.shape[2], value_width = call.problem.v.shape[3];
  Place place{all_of({batch, heads, queries, value_width}), all_of({batch, heads, queries}),
              all_of({batch, heads, keys}), all_of({batch, heads, queries, 4}), "weights"};
  if (layout_ == "bshd") place.out.strides.assign(call.out_strides.begin(), call.out_strides.end());
  return place;
}

Call GridCase::alone(const Sequence& sequence) const {
  Call call{settings_, {}};
  call.problem.q = tokens("q", sequence.q_begin, sequence.queries);
  call.problem.k = tokens("k", sequence.k_begin, sequence.keys);
  call.problem.v = tokens("v", sequence.k_begin, sequence.keys);
  const std::int64_t heads = call.problem.q.shape[1], value_width = call.problem.v.shape[3];
  call.out_strides = {0, value_width, heads * value_width, 1};
  return call;
}

Place GridCase::place(std::size_t sequence) const {
  const auto& [q_begin, queries, k_begin, keys] = packed_.at(sequence);
  const std::int64_t heads = input("q").shape().at(1), value_width = input("v").shape().at(2);
  const std::int64_t all_queries = q_begins_.back(), all_keys = k_begins_.back();
  return {{q_begin * heads * value_width, {1, heads, queries, value_width}, {0, value_width, heads * value_width, 1}},
          {q_begin, {1, heads, queries}, {0, all_queries, 1}},
          {k_begin, {1, heads, keys}, {0, all_keys, 1}},
          {q_begin * 4, {1, heads, queries, 4}, {0, all_queries * 4, 4, 1}},
          fmt::format("weights.{}", sequence)};
}

void check(const GridCase& grid, const Place& place, const AttentionValues& got) {
  const auto close = [&](const char* name, const Array& values, const Slice& slice) {
    expect_close(name, values, take(grid.expected(name), slice), {grid.tolerance(name)});
  };
  close("out", got.out, place.out);
  close("lse", got.lse, place.rows);
  close("row_max", got.row_max, place.rows);
  close("entropy", got.entropy, place.rows);
  close("column_mass", got.column_mass, place.columns);
  check_topk(got, take(grid.expected("topk_index"), place.topk), take(grid.expected("topk_weight"), place.topk),
             {grid.tolerance("topk_weight")});
  check_consistency(got);
  if (grid.has(place.weights)) {
    Array weights = grid.expected(place.weights);
    weights.shape = got.weights.shape;  // of packed sequences the batch axis is left out
    expect_close("weights", got.weights, weights, {grid.tolerance("weights")});
  }
  if (!grid.has("sink_weight")) return;
  close("sink_weight", got.sink_weight, place.rows);
  close("entropy_with_sink", got.entropy_with_sink, place.rows);
}

// Rows of one sequence and keys of another, or the same, in a map over all of them.
Slice block_of(const Array& map, const Sequence& rows, const Sequence& keys) {
  const Shape strides = dense_strides(map.shape);
  return {rows.q_begin * strides[2] + keys.k_begin, {1, map.shape[1], rows.queries, keys.keys}, strides};
}

// What a call over packed sequences says of one of them.
AttentionValues values_of(const AttentionValues& all, const Sequence& sequence) {
  const auto rows = [&](const Array& array) {
    if (array.shape.empty()) return array;
    Slice slice = all_of(array.shape);
    slice.offset = sequence.q_begin * slice.strides[2];
    slice.shape[2] = sequence.queries;
    return take(array, slice);
  };
  const Slice columns{
      sequence.k_begin, {1, all.column_mass.shape[1], sequence.keys}, all_of(all.column_mass.shape).strides};
  const Slice block = block_of(all.weights, sequence, sequence);
  const Array index = rows({all.topk_weight.shape, {all.topk_index.begin(), all.topk_index.end()}});
  AttentionValues part;
  part.out = rows(all.out);
  part.lse = rows(all.lse);
  part.row_max = rows(all.row_max);
  part.entropy = rows(all.entropy);
  part.column_mass = take(all.column_mass, columns);
  part.topk_weight = rows(all.topk_weight);
  part.topk_index.assign(index.values.begin(), index.values.end());
  part.weights = take(all.weights, block);
  part.row_weights = take(all.row_weights, block);
  part.sink_weight = rows(all.sink_weight);
  part.entropy_with_sink = rows(all.entropy_with_sink);
  return part;
}

void check_each_alone(const GridCase& grid, const Engine& engine) {
  for (std::size_t s = 0; s < grid.packed_sequences().size(); ++s) {
    const Call call = grid.alone(grid.packed_sequences()[s]);
    check(grid, grid.place(s), engine.run(call.problem, {4, 2, call.out_strides}));
  }
}

void check_packed(const GridCase& grid, const Engine& engine) {
  const Call call = grid.whole();
  const AttentionValues all = engine.run(call.problem, {4, 2, call.out_strides});
  for (std::size_t s = 0; s < grid.packed_sequences().size(); ++s) {
    const Sequence& sequence = grid.packed_sequences()[s];
    check(grid, grid.place(s), values_of(all, sequence));
    for (const Sequence& other : grid.packed_sequences()) {
      if (&other == &sequence) continue;
      const Array block = take(all.weights, block_of(all.weights, sequence, other));
      expect_close("weights of other sequences' keys", block, {block.shape, std::vector<double>(block.values.size())},
                   {});
    }
  }
}

void check_whole(const GridCase& grid, const Engine& engine) {
  const Call call = grid.whole();
  check(grid, grid.place(), engine.run(call.problem, {4, 2, call.out_strides}));
}

void check_in_pages(const GridCase& grid, const Engine& engine) {
  const Call call = grid.whole();
  for (const std::int64_t page_size : {16, 17}) {
    const Paged paged(call.problem, page_size);
    check(grid, grid.place(), engine.run(paged.problem(), {4, 2, call.out_strides}));
  }
}

// The families in which a cache matters: past keys, lengths, positions and formats.
bool may_be_paged(const std::string& family) {
  const std::set<std::string> families = {"past", "kv_lens", "window", "alibi", "sinks", "half", "mixed"};
  return families.contains(family);
}

}  // namespace

void run_attention_grid(Context& context, const std::filesystem::path& index, const std::string& prefix) {
  const json cases = format::read_json(index).at("grid");
  for (const json& entry : cases) {
    const std::string name = prefix + "/grid/" + entry.at("name").get<std::string>();
    const auto run = [&](const std::string& variant, void (*check)(const GridCase&, const Engine&)) {
      context.recorder.run(name + variant, [&] {
        const auto file = format::SafetensorsFile::open(index.parent_path() / entry.at("file").get<std::string>());
        const GridCase grid(entry, file);
        context.on_each_engine([&](const Engine& engine) { check(grid, engine); });
      });
    };
    if (entry.at("layout") == "thd") {
      run("", check_each_alone);
      run("/packed", check_packed);
      continue;
    }
    run("", check_whole);
    if (may_be_paged(entry.at("family"))) run("/pages", check_in_pages);
  }
}

}  // namespace sightline::conform
