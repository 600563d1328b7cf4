// minilm/index.json: expected values of all-MiniLM-L6-v2; its weights are found on this machine or the cases are
// skipped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "sightline/tokenizer.h"
#include "src/engine/session.h"
#include "src/format/json.h"
#include "tools/conform/forward.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr double kLeastCosine = 0.999999;  // of a sentence embedding with the expected one

fs::path model_directory() {
  const char* named = std::getenv("SIGHTLINE_MINILM");
  return named != nullptr ? fs::path(named) : engine::default_model_directory();
}

// Mean over the tokens, then length 1, [sequences, width].
Array embeddings(const model::ForwardResult& result) {
  const std::int64_t width = result.width, count = static_cast<std::int64_t>(result.row_begin.size()) - 1;
  Array embedded{{count, width}, std::vector<double>(count * width, 0)};
  for (std::int64_t s = 0; s < count; ++s) {
    double* sum = embedded.values.data() + s * width;
    for (std::int64_t row = result.row_begin[s]; row < result.row_begin[s + 1]; ++row) {
      for (std::int64_t d = 0; d < width; ++d) sum[d] += result.last_hidden_state[row * width + d];
    }
    double squares = 0;
    for (std::int64_t d = 0; d < width; ++d) squares += sum[d] * sum[d];
    for (std::int64_t d = 0; d < width; ++d) sum[d] /= std::sqrt(squares);
  }
  return embedded;
}

double dot(const Array& a, std::int64_t i, const Array& b, std::int64_t j) {
  const std::int64_t width = a.shape.at(1);
  double sum = 0;
  for (std::int64_t d = 0; d < width; ++d) sum += a.values.at(i * width + d) * b.values.at(j * width + d);
  return sum;
}

// The model with one forward pass over all texts, which every case looks at.
struct MiniLm {
  json index;
  format::SafetensorsFile file;
  fs::path directory;
  Batch batch;
  std::optional<Forward> forward;

  explicit MiniLm(const fs::path& path)
      : index(format::read_json(path)),
        file(format::SafetensorsFile::open(path.parent_path() / "reference.safetensors")),
        directory(model_directory()),
        batch(file.at("input_ids"), &file.at("attention_mask"), nullptr) {}

  double tolerance(const char* name) const { return index.at("tolerance").at(name); }
  Array expected(const std::string& name) const { return to_array(file.at(name)); }

  const Forward& run() {
    if (!fs::exists(directory / "config.json")) {
      throw Skipped(fmt::format("no model in {} (SIGHTLINE_MINILM can name another directory)", directory.string()));
    }
    if (!forward) forward = run_forward(model::Transformer::load(directory), batch, false);
    return *forward;
  }

  void check_tokens() {
    run();
    const auto tokenizer = tokenizer::Tokenizer::load(directory / "tokenizer.json");
    for (std::size_t s = 0; s < batch.size(); ++s) {
      std::vector<std::int32_t> ids;
      for (const auto& token : tokenizer.encode(index.at("texts").at(s).get<std::string>()).tokens)
        ids.push_back(token.id);
      expect(std::ranges::equal(ids, batch.ids(s)),
             fmt::format("text {}: expected ids [{}], got [{}]", s, fmt::join(batch.ids(s), ","), fmt::join(ids, ",")));
    }
  }

  void check_hidden() {
    const Array rows = batch.real_rows(expected("last_hidden_state"));
    const auto& got = run().result.last_hidden_state;
    expect_close("last_hidden_state", {rows.shape, {got.begin(), got.end()}}, rows,
                 {tolerance("last_hidden_state_abs")});
  }

  void check_layer(std::size_t layer) {
    const std::string what = fmt::format("attentions.{}", layer);
    check_maps(what, run().layers.at(layer).maps, batch, expected(what), tolerance("attentions_abs"));
  }

  void check_embeddings() {
    const Array got = embeddings(run().result), wanted = expected("embeddings"), cosines = expected("cosine");
    expect_close("embeddings", got, wanted, {tolerance("embeddings_abs")});
    Array between = cosines;
    for (std::int64_t i = 0; i < got.shape[0]; ++i) {
      const double cosine = dot(got, i, wanted, i) / std::sqrt(dot(wanted, i, wanted, i));
      expect(cosine >= kLeastCosine,
             fmt::format("text {}: expected a cosine of {} or more, got {:.9f}", i, kLeastCosine, cosine));
      for (std::int64_t j = 0; j < got.shape[0]; ++j) between.values[i * got.shape[0] + j] = dot(got, i, got, j);
    }
    expect_close("cosine", between, cosines, {2 * tolerance("embeddings_abs")});
  }
};

}  // namespace

void run_minilm(Context& context, const fs::path& index, const std::string& prefix) {
  MiniLm minilm(index);
  auto& recorder = context.recorder;
  recorder.run(prefix + "/tokens", [&] { minilm.check_tokens(); });
  recorder.run(prefix + "/last_hidden_state", [&] { minilm.check_hidden(); });
  for (std::size_t layer = 0; minilm.file.find(fmt::format("attentions.{}", layer)) != nullptr; ++layer) {
    recorder.run(fmt::format("{}/attentions.{}", prefix, layer), [&] { minilm.check_layer(layer); });
  }
  recorder.run(prefix + "/embeddings", [&] { minilm.check_embeddings(); });
}

}  // namespace sightline::conform
