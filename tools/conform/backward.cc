// attention/index.json, "backward": gradients of sum(out * dout); and the reports of that kind.
#include "tools/conform/backward.h"

#include <map>
#include <nlohmann/json.hpp>

#include "sightline/backward.h"
#include "src/attention/reference.h"
#include "src/attention/reference_backward.h"
#include "src/format/json.h"
#include "tools/conform/report_problem.h"
#include "tools/conform/reports.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

constexpr float kUnwritten = 7.5e8f;

Shape shape_of(const TensorView& tensor) { return {tensor.shape.begin(), tensor.shape.end()}; }

// Dense fp32 of some shape, filled with a value that no case expects, so that what is left unwritten shows.
struct Written {
  explicit Written(Shape of) : shape(std::move(of)), values(element_count(shape), kUnwritten) {}
  MutableTensorView view() {
    return dense_view(values.data(), std::array<std::int64_t, 4>{shape[0], shape[1], shape[2], shape[3]});
  }
  Array array() const { return {shape, {values.begin(), values.end()}}; }

  Shape shape;
  std::vector<float> values;
};

// A case's file with all that its problem points into.
class BackwardCase {
 public:
  BackwardCase(const json& entry, const format::SafetensorsFile& file) : entry_(entry), file_(file) {
    for (const auto& [name, tensor] : file.tensors()) {
      if (!name.starts_with("expected.")) inputs_.emplace(name, Input(tensor));
    }
    problem.q = view("q");
    problem.k = view("k");
    problem.v = view("v");
    problem.mask = view("mask");
    problem.bias = view("bias");
    problem.alibi_slopes = floats("alibi_slopes");
    problem.sinks = floats("sinks");
    set_options();
  }

  TensorView view(const std::string& name) const {
    const auto found = inputs_.find(name);
    return found == inputs_.end() ? TensorView{} : found->second.view();
  }

  void check(const GradientValues& got) const {
    const auto check = [&](const char* name, const Array& array) {
      const format::Tensor* expected = file_.find(std::string("expected.") + name);
      if (expected == nullptr) return;
      expect_close(name, array, to_array(*expected), {entry_.at("tolerance").at(name).get<double>()});
    };
    check("out", got.out);
    check("dq", got.dq);
    check("dk", got.dk);
    check("dv", got.dv);
    check("dbias", got.dbias);
    check("dsink", got.dsink);
    check("dalibi_slopes", got.dalibi_slopes);
  }

  AttentionProblem problem;

 private:
  std::span<const float> floats(const std::string& name) const {
    const auto found = inputs_.find(name);
    if (found == inputs_.end()) return {};
    return {reinterpret_cast<const float*>(found->second.data()), entry_.at("heads_q").get<std::size_t>()};
  }

  void set_options() {
    problem.scale = entry_.at("scale").get<float>();
    problem.softcap = entry_.at("softcap").get<float>();
    problem.causal = entry_.at("causal").get<bool>();
    problem.alignment = entry_.at("alignment") == "top_left" ? Alignment::top_left : Alignment::bottom_right;
    problem.window_left = entry_.at("window_left").get<std::int64_t>();
    problem.window_right = entry_.at("window_right").get<std::int64_t>();
    if (!inputs_.contains("kv_lens")) return;
    for (const double keys : to_array(file_.at("kv_lens")).values) {
      sequences_.push_back({static_cast<std::int64_t>(keys), 0, {}});
    }
    problem.sequences = sequences_;
  }

  const json& entry_;
  const format::SafetensorsFile& file_;
  std::map<std::string, Input> inputs_;
  std::vector<SequenceSpan> sequences_;
};

void expect_gradients(const GradientValues& got, const json& expected, const Tolerance& tolerance) {
  const auto check = [&](const char* name, const Array& array) {
    if (expected.contains(name)) expect_close(name, array, case_array(expected.at(name)), tolerance);
  };
  check("out", got.out);
  check("dq", got.dq);
  check("dk", got.dk);
  check("dv", got.dv);
}

void set_dropout(const json& given, ReportProblem& attention) {
  if (!given.contains("keep_mask")) return;
  attention.problem.keep = attention.keep(case_mask(given.at("keep_mask")));
  attention.problem.keep_scale = static_cast<float>(1 / (1 - given.at("dropout_p").get<double>()));
}

// Either one "dout", or variants of it that are views of a storage.
void run_attention_grad(const Report& report, const Engine& engine) {
  const json& given = report.given;
  ReportProblem attention(given);
  set_dropout(given, attention);
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  if (given.contains("dout")) {
    const Input dout = case_input(given.at("dout"));
    return expect_gradients(engine.gradients(attention.problem, dout.view()), report.expected, tolerance);
  }
  const json& variants = given.at("dout_variants");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const json &variant = variants.at(i), &stored = variant.at("storage");
    const Input storage =
        stored.is_array() ? Input::of_floats({static_cast<std::int64_t>(stored.size())}, stored) : case_input(stored);
    const TensorView dout = storage.view(variant.at("shape"), variant.at("element_strides"));
    expect_gradients(engine.gradients(attention.problem, dout), report.expected.at("grads").at(i), tolerance);
  }
}

constexpr ReportKind kKinds[] = {{"attention_grad", run_attention_grad}};

}  // namespace

GradientValues kernel_gradients(const AttentionProblem& p, const TensorView& dout) {
  Written out(shape_of(dout)), q(shape_of(p.q)), k(shape_of(p.k)), v(shape_of(p.v)), bias(shape_of(p.bias));
  std::vector<float> max(element_count(out.shape)), sum(max.size());
  std::vector<float> sinks(p.sinks.size(), kUnwritten), slopes(p.alibi_slopes.size(), kUnwritten);
  Observations see;
  see.row_max = max.data();
  see.row_sum = sum.data();
  attention(p, out.view(), see, {2});
  Gradients gradients;
  gradients.q = q.view();
  gradients.k = k.view();
  gradients.v = v.view();
  if (p.bias) gradients.bias = bias.view();
  if (!sinks.empty()) gradients.sinks = sinks.data();
  if (!slopes.empty()) gradients.alibi_slopes = slopes.data();
  attention_backward(p, {out.view(), max.data(), sum.data()}, dout, gradients, {2});
  const auto one_axis = [](const std::vector<float>& values) {
    return Array{{static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()}};
  };
  return {out.array(), q.array(), k.array(), v.array(), bias.array(), one_axis(sinks), one_axis(slopes)};
}

GradientValues reference_gradients(const AttentionProblem& p, const TensorView& dout) {
  const auto got = reference::gradients(p, dout);
  const Shape heads{p.q.shape[1]};
  return {{shape_of(dout), reference::attention(p).out},
          {shape_of(p.q), got.q},
          {shape_of(p.k), got.k},
          {shape_of(p.v), got.v},
          {shape_of(p.bias), got.bias},
          {heads, got.sinks},
          {heads, got.alibi_slopes}};
}

void run_attention_backward(Context& context, const std::filesystem::path& index, const std::string& prefix) {
  const json cases = format::read_json(index).value("backward", json::array());
  for (const json& entry : cases) {
    context.recorder.run(prefix + "/backward/" + entry.at("name").get<std::string>(), [&] {
      const auto file = format::SafetensorsFile::open(index.parent_path() / entry.at("file").get<std::string>());
      const BackwardCase backward(entry, file);
      context.on_each_engine(
          [&](const Engine& engine) { backward.check(engine.gradients(backward.problem, backward.view("dout"))); });
    });
  }
}

std::span<const ReportKind> backward_kinds() { return kKinds; }

}  // namespace sightline::conform
