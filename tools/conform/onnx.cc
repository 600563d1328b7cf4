// attention/index.json, "onnx": test cases of the ONNX operator Attention (opsets 23 to 25).
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

void swap_last_axes(TensorView& view) {
  std::swap(view.shape[2], view.shape[3]);
  std::swap(view.strides[2], view.strides[3]);
}

// A node with its inputs, as an AttentionProblem that points into them.
class OnnxCase {
 public:
  OnnxCase(const json& entry, const format::SafetensorsFile& file);
  void check(const Engine& engine) const;

 private:
  std::int64_t attribute(const char* name, std::int64_t otherwise) const {
    return entry_.at("attributes").value(name, otherwise);
  }
  const Input* input(const std::string& name) const;
  TensorView heads_first(const std::string& name, std::int64_t heads) const;
  void set_operands();
  void set_positions();
  void set_mask();
  void check_output(const std::string& name, const Array& got) const;
  Array score_output(const Engine& engine, const AttentionValues& values) const;

  const json& entry_;
  const format::SafetensorsFile& file_;
  std::map<std::string, Input> inputs_;
  std::vector<SequenceSpan> sequences_;
  AttentionProblem problem_;
};

OnnxCase::OnnxCase(const json& entry, const format::SafetensorsFile& file) : entry_(entry), file_(file) {
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.starts_with("in.")) inputs_.emplace(name.substr(3), Input(tensor));
  }
  const json& attributes = entry.at("attributes");
  if (attributes.contains("scale")) problem_.scale = attributes.at("scale").get<float>();
  problem_.softcap = attributes.value("softcap", 0.0f);
  problem_.causal = attribute("is_causal", 0) != 0;
  problem_.window_left = attribute("left_window_size", -1);
  problem_.window_right = attribute("right_window_size", -1);
  set_operands();
  set_positions();
  set_mask();
}

const Input* OnnxCase::input(const std::string& name) const {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? nullptr : &found->second;
}

// Inputs of three axes are [batch, sequence, heads * width].
TensorView OnnxCase::heads_first(const std::string& name, std::int64_t heads) const {
  const Input& tensor = inputs_.at(name);
  if (tensor.shape().size() == 4) return tensor.view();
  const Shape& shape = tensor.shape();
  const std::int64_t width = shape.at(2) / heads;
  return tensor.view({shape[0], heads, shape[1], width}, {shape[1] * shape[2], width, shape[2], 1});
}

void OnnxCase::set_operands() {
  const std::int64_t q_heads = attribute("q_num_heads", 0), kv_heads = attribute("kv_num_heads", 0);
  problem_.q = heads_first("Q", q_heads);
  problem_.k = heads_first("K", kv_heads);
  problem_.v = heads_first("V", kv_heads);
  if (input("past_key") == nullptr) return;
  inputs_.emplace("present_key", concatenate(input("past_key")->view(), problem_.k));
  inputs_.emplace("present_value", concatenate(input("past_value")->view(), problem_.v));
  problem_.k = input("present_key")->view();
  problem_.v = input("present_value")->view();
}

// Query 0 stands at key 0, moved by the cached keys, or so that the last query stands at the last key in use.
void OnnxCase::set_positions() {
  const std::int64_t queries = problem_.q.shape[2];
  std::vector<double> lengths;
  if (input("nonpad_kv_seqlen") != nullptr) lengths = to_array(file_.at("in.nonpad_kv_seqlen")).values;
  const std::int64_t past = input("past_key") == nullptr ? 0 : input("past_key")->shape().at(2);
  for (std::int64_t b = 0; b < problem_.q.shape[0]; ++b) {
    SequenceSpan span{-1, 0, past};
    if (!lengths.empty()) {
      span.key_count = static_cast<std::int64_t>(lengths.at(b));
      span.query_position = span.key_count - queries;
    }
    sequences_.push_back(span);
  }
  problem_.sequences = sequences_;
}

// What hides a key in a mask of this type, `count` times: false, or -inf.
Input hidden_entries(DType dtype, const Shape& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  switch (dtype) {
    case DType::boolean:
      return {dtype, shape, std::vector<std::uint8_t>(count, 0).data()};
    case DType::f16:
      return {dtype, shape, std::vector<std::uint16_t>(count, 0xFC00).data()};
    case DType::bf16:
      return {dtype, shape, std::vector<std::uint16_t>(count, 0xFF80).data()};
    case DType::f32:
      return {dtype, shape, std::vector<float>(count, -INFINITY).data()};
    default:
      throw Skipped(fmt::format("masks of type {} are not read here", dtype_name(dtype)));
  }
}

// An additive mask is a bias. A mask may be shorter than the keys: those beyond it are hidden.
void OnnxCase::set_mask() {
  const Input* given = input("attn_mask");
  if (given == nullptr) return;
  TensorView mask = given->view();
  const std::int64_t missing = problem_.k.shape[2] - mask.shape[3];
  if (mask.shape[3] != 1 && missing > 0) {
    const Shape shape{mask.shape[0], mask.shape[1], missing, mask.shape[2]};
    swap_last_axes(mask);  // concatenate() joins along axis 2, which the keys take here
    inputs_.emplace("full_mask", concatenate(mask, hidden_entries(mask.dtype, shape).view()));
    mask = input("full_mask")->view();
    swap_last_axes(mask);
  }
  (mask.dtype == DType::boolean ? problem_.mask : problem_.bias) = mask;
}

// qk_matmul_output_mode: 0 scaled scores, 1 after the softcap, 2 after the mask, 3 weights.
Array OnnxCase::score_output(const Engine& engine, const AttentionValues& values) const {
  constexpr Stage kStages[] = {Stage::raw, Stage::capped, Stage::biased};
  const std::int64_t mode = attribute("qk_matmul_output_mode", 0);
  return mode == 3 ? values.weights : engine.stage(problem_, kStages[mode]);
}

double half_rounding(const std::string& dtype) { return dtype == "f16" ? 0x1p-11 : dtype == "bf16" ? 0x1p-8 : 0; }

// Published values of half-precision cases were computed in half precision; ours are not, and compare with fp64 alone.
void OnnxCase::check_output(const std::string& name, const Array& got) const {
  const double rounding = half_rounding(entry_.at("dtype"));
  const auto compare = [&](const std::string& kind, const Tolerance& tolerance) {
    Array expected = to_array(file_.at(kind + "." + name));
    if (expected.values.size() == got.values.size()) expected.shape = got.shape;  // heads may be folded into the width
    expect_close(fmt::format("{} ({})", name, kind), got, expected, tolerance);
  };
  compare("ref64", {entry_.at("ref64_atol"), rounding});
  if (rounding == 0) compare("expected", {entry_.at("onnx_atol"), entry_.at("onnx_rtol")});
}

void OnnxCase::check(const Engine& engine) const {
  const auto [batch, heads, queries, width] = problem_.q.shape;
  const std::int64_t value_width = problem_.v.shape[3];
  AttentionCall call;
  const bool flat = entry_.at("rank") == 3;
  if (flat) call.out_strides = {queries * heads * value_width, value_width, heads * value_width, 1};
  const AttentionValues values = engine.run(problem_, call);
  Array out = values.out;
  if (flat) {
    const Shape strides{heads * queries * value_width, value_width, queries * value_width, 1};
    out = take(out, {0, {batch, queries, heads, value_width}, strides});
  }
  check_consistency(values);
  for (const std::string name : entry_.at("outputs")) {
    if (name == "Y") check_output(name, out);
    if (name == "qk_matmul_output") check_output(name, score_output(engine, values));
    if (name.starts_with("present_")) {
      const Input& present = inputs_.at(name);
      check_output(
          name,
          to_array({present.dtype(), present.shape(), {present.data(), file_.at("expected." + name).bytes.size()}}));
    }
  }
}

}  // namespace

void run_attention_onnx(Context& context, const std::filesystem::path& index, const std::string& prefix) {
  const json cases = format::read_json(index).at("onnx");
  for (const json& entry : cases) {
    context.recorder.run(prefix + "/onnx/" + entry.at("name").get<std::string>(), [&] {
      const auto file = format::SafetensorsFile::open(index.parent_path() / entry.at("file").get<std::string>());
      const OnnxCase onnx(entry, file);
      context.on_each_engine([&](const Engine& engine) { onnx.check(engine); });
    });
  }
}

}  // namespace sightline::conform
