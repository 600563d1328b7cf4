// models/index.json: tiny checkpoints with the activations of a reference run.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/format/json.h"
#include "tools/conform/forward.h"
#include "tools/conform/generation.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Bounds of one model.
struct ModelTolerance {
  double values_rel, attentions_abs;

  Tolerance of_values(const Array& expected) const { return of_largest(expected, values_rel); }
};

// One case of a reference file ("len7"), run and compared.
class ModelCase {
 public:
  ModelCase(format::SafetensorsFile file, std::string name, ModelTolerance tolerance)
      : file_(std::move(file)), name_(std::move(name)), tolerance_(tolerance) {}
  void check(const model::Transformer& transformer) const;

 private:
  const format::Tensor* find(const std::string& what) const { return file_.find(name_ + "." + what); }
  void check_rows(const std::string& what, const Batch& batch, const std::vector<float>& got) const;
  void check_pooled(const Forward& forward) const;
  void check_attentions(const Batch& batch, const Forward& forward) const;
  void check_given(const std::string& what, const std::vector<Array>& heads, const Batch& batch) const;

  const format::SafetensorsFile file_;
  std::string name_;
  ModelTolerance tolerance_;
};

void ModelCase::check(const model::Transformer& transformer) const {
  const format::Tensor* types = find("token_type_ids");
  const Batch batch(file_.at(name_ + ".input_ids"), find("attention_mask"), types);
  const Forward forward = run_forward(transformer, batch, find("logits") != nullptr);
  check_rows("last_hidden_state", batch, forward.result.last_hidden_state);
  check_rows("logits", batch, forward.result.logits);
  for (std::size_t n = 0; n < forward.result.hidden_states.size(); ++n) {
    check_rows(fmt::format("hidden_states.{}", n), batch, forward.result.hidden_states[n]);
  }
  check_pooled(forward);
  check_attentions(batch, forward);
}

// Rows of padding are not compared.
void ModelCase::check_rows(const std::string& what, const Batch& batch, const std::vector<float>& got) const {
  const format::Tensor* tensor = find(what);
  if (tensor == nullptr) return;
  const Array expected = batch.real_rows(to_array(*tensor));
  expect_close(what, {expected.shape, {got.begin(), got.end()}}, expected, tolerance_.of_values(expected));
}

void ModelCase::check_pooled(const Forward& forward) const {
  const format::Tensor* tensor = find("pooler_output");
  if (tensor == nullptr) return;
  const Array expected = to_array(*tensor);
  const auto& got = forward.result.pooled;
  expect_close("pooler_output", {expected.shape, {got.begin(), got.end()}}, expected, tolerance_.of_values(expected));
}

// Queries, keys and values, which few references hold.
void ModelCase::check_given(const std::string& what, const std::vector<Array>& heads, const Batch& batch) const {
  const format::Tensor* tensor = find(what);
  if (tensor == nullptr) return;
  const Array expected = to_array(*tensor);
  check_heads(what, heads, batch, expected, tolerance_.of_values(expected).absolute);
}

void ModelCase::check_attentions(const Batch& batch, const Forward& forward) const {
  for (std::size_t layer = 0; layer < forward.layers.size(); ++layer) {
    const SeenLayer& seen = forward.layers[layer];
    check_given(fmt::format("queries.{}", layer), seen.queries, batch);
    check_given(fmt::format("keys.{}", layer), seen.keys, batch);
    check_given(fmt::format("values.{}", layer), seen.values, batch);
    const std::string what = fmt::format("attentions.{}", layer);
    if (layer > 0 && find(what) == nullptr) continue;  // some references hold the first layer alone
    check_maps(what, seen.maps, batch, to_array(file_.at(name_ + "." + what)), tolerance_.attentions_abs);
  }
}

// Kinds of index entries that are run; of the others each case is skipped.
void require_runnable(const json& entry) {
  const std::string kind = entry.at("kind");
  if (kind != "encoder" && kind != "decoder") throw Skipped(fmt::format("models of kind {} are not run yet", kind));
}

void run_model(Context& context, const fs::path& directory, const json& entry, const std::string& name) {
  const json& bounds = entry.at("tolerance");
  const ModelTolerance tolerance{bounds.at("values_rel"), bounds.at("attentions_abs")};
  const auto reference = [&] { return format::SafetensorsFile::open(directory / "reference.safetensors"); };
  for (const std::string case_name : entry.at("cases")) {
    context.recorder.run(name + "/" + case_name, [&] {
      require_runnable(entry);
      ModelCase(reference(), case_name, tolerance).check(model::Transformer::load(directory));
    });
  }
  for (const json& generation : entry.at("generation")) {
    const std::string case_name = generation.at("case");
    context.recorder.run(name + "/" + case_name, [&] {
      require_runnable(entry);
      check_generation(model::Transformer::load(directory), reference(), case_name);
    });
  }
}

}  // namespace

void run_models(Context& context, const fs::path& index, const std::string& prefix) {
  const json models = format::read_json(index).at("models");
  for (const json& entry : models) {
    const std::string name = prefix + "/" + entry.at("name").get<std::string>();
    run_model(context, index.parent_path() / entry.at("dir").get<std::string>(), entry, name);
  }
}

}  // namespace sightline::conform
