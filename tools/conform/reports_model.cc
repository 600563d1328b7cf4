// Cases of model files: sizes in config.json, names of parameters, tied embeddings, stored projections.
#include <fmt/format.h>

#include <algorithm>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/model/family.h"
#include "src/ops/linear.h"
#include "tools/conform/case_values.h"
#include "tools/conform/forward.h"
#include "tools/conform/report_problem.h"
#include "tools/conform/reports.h"
#include "tools/conform/temporary_directory.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// heads, kv_heads, head_dim, q_out, kv_out
void check_sizes(const json& config, const json& expected) {
  std::vector<std::int64_t> got;
  try {
    const auto sizes = model::parse_head_sizes(config.dump(), "config.json");
    got = {sizes.query_heads, sizes.kv_heads, sizes.head_width, sizes.query_heads * sizes.head_width,
           sizes.kv_heads * sizes.head_width};
  } catch (const BadFile& error) {
    expect(expected.is_string(), fmt::format("expected {}, got: {}", expected.dump(), error.what()));
    return;
  }
  expect(json(got) == expected, fmt::format("expected {}, got {}", expected.dump(), json(got).dump()));
}

void run_config_sizes(Context& context, const Report& report) {
  const json& configs = report.given.at("configs");
  for (std::size_t i = 0; i < configs.size(); ++i) {
    context.recorder.run(fmt::format("{}/{}_{}", report.name, configs[i].value("model_type", ""), i),
                         [&] { check_sizes(configs[i], report.expected.at("rows").at(i)); });
  }
}

// Names as stored, and under which the model looks for them; buffers are ignored.
void run_parameter_names(const Report& report) {
  const auto& family = model::find_family(report.given.at("architecture").get<std::string>(), "config.json");
  const json& names = report.given.at("names");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string stored = names[i], expected = report.expected.at("canonical").at(i);
    const std::string got = model::canonical_name(*family.names, stored);
    expect(got == (expected == "(ignored buffer)" ? "" : expected),
           fmt::format("{}: expected {}, got \"{}\"", stored, expected, got));
  }
}

// y = x W^T + b, W as stored; or y = x W + b.
void check_projection(const Report& report, bool transposed, const char* expected_name) {
  const Input x = case_input(report.given.at("x")), w = case_input(report.given.at("w_as_stored")),
              b = case_input(report.given.at("b"));
  const std::int64_t outputs = w.shape()[transposed ? 1 : 0], inputs = w.shape()[transposed ? 0 : 1];
  const ops::Linear layer{{w.data(), DType::f32, outputs, inputs, transposed},
                          reinterpret_cast<const float*>(b.data())};
  std::vector<float> y(static_cast<std::size_t>(outputs));
  ops::linear(layer, reinterpret_cast<const float*>(x.data()), 1, y.data(), 1);
  const Array expected = case_array(report.expected.at(expected_name));
  expect_close("y", {expected.shape, {y.begin(), y.end()}}, expected, {});
}

void run_projection(Context& context, const Report& report) {
  context.recorder.run(report.name + "/bert", [&] { check_projection(report, false, "gpt_bigcode_llama_bert"); });
  context.recorder.run(report.name + "/gpt2", [&] { check_projection(report, true, "gpt2"); });
}

// How many keys the last query of a causal map sees, with a window as config.json has it.
std::int64_t keys_seen(const Engine& engine, const json& value, std::int64_t queries, std::int64_t keys) {
  json config = {{"model_type", "mistral"},
                 {"architectures", {"MistralForCausalLM"}},
                 {"vocab_size", 16},
                 {"hidden_size", 8},
                 {"intermediate_size", 16},
                 {"num_hidden_layers", 1},
                 {"num_attention_heads", 2},
                 {"num_key_value_heads", 2},
                 {"max_position_embeddings", 8192},
                 {"rms_norm_eps", 1e-5},
                 {"rope_theta", 1e4},
                 {"hidden_act", "silu"},
                 {"tie_word_embeddings", false}};
  if (value != "missing") config["sliding_window"] = value;
  const auto window = model::parse_config(config.dump(), "config.json").pattern.at(0).window;
  ReportProblem attention;
  const auto zeros = [&](std::int64_t rows) {
    return attention.keep(Input::of_floats({rows, 1}, std::vector<float>(static_cast<std::size_t>(rows))));
  };
  attention.problem.q = zeros(queries);
  attention.problem.k = attention.problem.v = zeros(keys);
  attention.problem.causal = true;
  if (window > 0) attention.problem.window_left = window - 1;
  const auto weights = engine.run(attention.problem, {}).weights.values;
  return std::count_if(weights.end() - keys, weights.end(), [](double weight) { return weight > 0; });
}

void run_config_window(const Report& report, const Engine& engine) {
  const json& values = report.given.at("values");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t expected = report.expected.at("visible_in_last_row").at(i);
    const std::int64_t got = keys_seen(engine, values[i], report.given.at("nq"), report.given.at("nk"));
    expect(got == expected,
           fmt::format("sliding_window {}: expected {} keys, got {}", values[i].dump(), expected, got));
  }
}

// A checkpoint of the conformance set, which is written again with other names or tensors.
class Variant {
 public:
  explicit Variant(const fs::path& directory)
      : config_(format::read_json(directory / "config.json")),
        file_(format::SafetensorsFile::open(directory / "model.safetensors")),
        reference_(format::SafetensorsFile::open(directory / "reference.safetensors")) {
    for (const auto& [name, tensor] : file_.tensors()) tensors_[name] = tensor;
  }

  json& config() { return config_; }
  std::map<std::string, format::Tensor>& tensors() { return tensors_; }

  /// Loads what the variant has become.
  model::Transformer load() const {
    const TemporaryDirectory directory;
    directory.put("config.json", config_.dump());
    format::SafetensorsWriter writer(directory.path() / "model.safetensors");
    for (const auto& [name, tensor] : tensors_) writer.declare(name, tensor.dtype, tensor.shape);
    for (const auto& [name, tensor] : tensors_) writer.write(name, tensor.bytes);
    writer.finish();
    return model::Transformer::load(directory.path());  // stays mapped when the directory goes
  }

  /// Logits of the reference input, and what is expected of the unchanged model.
  std::vector<float> logits(const model::Transformer& transformer) const {
    const Batch batch(reference_.at("len7.input_ids"), reference_.find("len7.attention_mask"),
                      reference_.find("len7.token_type_ids"));
    return run_forward(transformer, batch, true).result.logits;
  }

 private:
  json config_;
  format::SafetensorsFile file_, reference_;
  std::map<std::string, format::Tensor> tensors_;
};

fs::path model_beside(const Report& report, const std::string& name) {
  const fs::path directory = report.conformance / "models" / name;
  if (!fs::exists(directory / "config.json")) throw Skipped(fmt::format("no models/{} beside the cases", name));
  return directory;
}

// With a matrix of zeros for an output matrix of its own, logits are the bias, the same in every row.
bool rows_are_equal(const std::vector<float>& logits, std::size_t width) {
  for (std::size_t i = width; i < logits.size(); ++i) {
    if (logits[i] != logits[i - width]) return false;
  }
  return true;
}

void check_tied(const Report& report, const json& row, const std::string& expected) {
  constexpr const char* kEmbedding = "bert.embeddings.word_embeddings.weight";
  constexpr const char* kOutput = "cls.predictions.decoder.weight";
  Variant variant(model_beside(report, "bert_mlm_legacy"));
  const std::vector<float> with_embedding = variant.logits(variant.load());
  variant.config()["tie_word_embeddings"] = row.at("tie");
  const format::Tensor embedding = variant.tensors().at(kEmbedding);
  const std::vector<std::byte> zeros(embedding.bytes.size());
  variant.tensors().erase(kOutput);
  if (row.at("lm_head") == "equal") variant.tensors()[kOutput] = embedding;
  if (row.at("lm_head") == "different") variant.tensors()[kOutput] = {embedding.dtype, embedding.shape, zeros};

  if (expected == "error") {
    try {
      variant.load();
    } catch (const BadFile&) {
      return;
    }
    throw Mismatch("expected BadFile, got no error");
  }
  const auto transformer = variant.load();
  const auto logits = variant.logits(transformer);
  if (expected == "lm_head")
    return expect(rows_are_equal(logits, embedding.shape.at(0)), "expected the matrix of the file");
  expect(logits == with_embedding, "expected the embedding as output matrix");
  const bool warned = !transformer.warnings().empty();
  expect(warned == (expected == "embedding, with warning"), warned ? "expected no warning" : "expected a warning");
}

// A config.json that does not say, and no output matrix: the default of the type decides.
void check_tied_by_default(const Report& report, const std::string& expected) {
  const bool tied = expected.starts_with("embedding");
  Variant variant(model_beside(report, tied ? "gpt2" : "llama_linear"));
  const std::vector<float> said = variant.logits(variant.load());
  variant.config().erase("tie_word_embeddings");
  variant.tensors().erase("lm_head.weight");
  if (tied) return expect(variant.logits(variant.load()) == said, "expected the embedding as output matrix");
  try {
    variant.load();
  } catch (const BadFile&) {
    return;
  }
  throw Mismatch("expected BadFile, got no error");
}

void run_tied_embeddings(Context& context, const Report& report) {
  const json& rows = report.given.at("rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string expected = report.expected.at("output_matrix").at(i);
    context.recorder.run(fmt::format("{}/{}", report.name, i), [&] {
      rows[i].at("tie").is_string() ? check_tied_by_default(report, expected) : check_tied(report, rows[i], expected);
    });
  }
}

constexpr ReportKind kKinds[] = {
    {"config_dims", nullptr, nullptr, run_config_sizes},        {"config_window", run_config_window},
    {"parameter_names", nullptr, run_parameter_names},          {"projection", nullptr, nullptr, run_projection},
    {"tied_embeddings", nullptr, nullptr, run_tied_embeddings},
};

}  // namespace

std::span<const ReportKind> model_kinds() { return kKinds; }

}  // namespace sightline::conform
