// left_padding/index.json: batches padded on the left, with attention weights of the prompts and greedy tokens.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/format/json.h"
#include "tools/conform/forward.h"
#include "tools/conform/generation.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A batch, and each of its texts on its own, which must give the same bits.
class PaddedBatch {
 public:
  PaddedBatch(const fs::path& directory, const json& entry)
      : transformer_(model::Transformer::load(directory.parent_path() / entry.at("model").get<std::string>())),
        file_(format::SafetensorsFile::open(directory / entry.at("file").get<std::string>())),
        batch_(file_.at("input_ids"), &file_.at("attention_mask"), nullptr),
        bounds_(entry.at("tolerance")),
        steps_(entry.at("new_tokens")) {}

  void check_prompts() const {
    const Forward forward = run_forward(transformer_, batch_, true);
    check_last_logits(forward.result);
    for (std::size_t layer = 0; layer < forward.layers.size(); ++layer) {
      const std::string what = fmt::format("attentions.{}", layer);
      check_maps(what, forward.layers[layer].maps, batch_, to_array(file_.at(what)), bounds_.at("attentions_abs"));
    }
  }

  void check_tokens() const {
    const Generation got = generate(transformer_, batch_.sequences(), steps_);
    const Array tokens = to_array(file_.at("tokens"));
    Array of_batch{tokens.shape, {}}, logits = to_array(file_.at("step_logits")), got_logits{logits.shape, {}};
    for (std::size_t s = 0; s < batch_.size(); ++s) {
      of_batch.values.insert(of_batch.values.end(), got.tokens[s].begin(), got.tokens[s].end());
      for (const auto& step : got.logits[s])
        got_logits.values.insert(got_logits.values.end(), step.begin(), step.end());
    }
    expect_close("tokens", of_batch, tokens, {});
    expect_close("step_logits", got_logits, logits, of_largest(logits, bounds_.at("values_rel")));
    expect_same_as_uncached(transformer_, got);
    expect_same_as_decoding(transformer_, got);
  }

 private:
  void check_last_logits(const model::ForwardResult& result) const {
    const Array expected = to_array(file_.at("logits"));
    const auto width = static_cast<std::ptrdiff_t>(expected.shape.at(1));
    Array got{expected.shape, {}};
    for (std::size_t s = 0; s < batch_.size(); ++s) {
      const auto end = result.logits.begin() + static_cast<std::ptrdiff_t>(result.row_begin[s + 1]) * width;
      got.values.insert(got.values.end(), end - width, end);
    }
    expect_close("logits", got, expected, of_largest(expected, bounds_.at("values_rel")));
  }

  model::Transformer transformer_;
  format::SafetensorsFile file_;
  Batch batch_;
  json bounds_;
  std::size_t steps_;
};

}  // namespace

void run_left_padding(Context& context, const fs::path& index, const std::string& prefix) {
  const json batches = format::read_json(index).at("batches");
  for (const json& entry : batches) {
    const std::string name = prefix + "/" + entry.at("name").get<std::string>();
    context.recorder.run(name + "/prompts", [&] { PaddedBatch(index.parent_path(), entry).check_prompts(); });
    context.recorder.run(name + "/tokens", [&] { PaddedBatch(index.parent_path(), entry).check_tokens(); });
  }
}

}  // namespace sightline::conform
