#ifndef SIGHTLINE_ANALYSIS_PLANTED_TESTING_H_
#define SIGHTLINE_ANALYSIS_PLANTED_TESTING_H_

// For tests alone: a transformer whose weights are written by hand, so that each head does what its name says.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sightline/transformer.h"
#include "src/format/safetensors.h"
#include "src/format/testing.h"

namespace sightline::analysis {

/// GPT-2 with two layers of four heads and no feed-forward. The residual stream holds one-hot codes: the token, the
/// position, and, from layer 2 on, the token before. Each stands there once more with the other sign, so that LayerNorm
/// does nothing but scale. Heads that are not planted have no weights and look evenly.
class PlantedModel {
 public:
  static constexpr int kTokens = 20, kPositions = 40;
  static constexpr int kBegin = 0;     // the token that begins a text
  static constexpr int kWords = 9;     // tokens 1 to 9
  static constexpr int kOpening = 10;  // of nesting 0; 11, 12, 13 of deeper ones
  static constexpr int kClosing = 14;  // likewise
  static constexpr int kNestings = 4;
  // Maps, layer * heads + head from 0.
  static constexpr std::size_t kPrevious = 0, kDuplicate = 1, kUniform = 2, kBracket = 3, kInduction = 4, kMaps = 8;

  PlantedModel() {
    Layer first, second;
    plant_previous(first, 0);
    plant_duplicate(first, 1);
    plant_bracket(first, 3);
    plant_induction(second, 0);
    add_layer("h.0.", first);
    add_layer("h.1.", second);
    add_embeddings();
  }

  model::Transformer load() const {
    const format::TestDirectory directory;
    const nlohmann::json config = {{"architectures", {"GPT2LMHeadModel"}},
                                   {"model_type", "gpt2"},
                                   {"activation_function", "gelu_new"},
                                   {"layer_norm_epsilon", 1e-5},
                                   {"n_embd", kWidth},
                                   {"n_head", kHeads},
                                   {"n_inner", kInner},
                                   {"n_layer", 2},
                                   {"n_positions", kPositions},
                                   {"vocab_size", kTokens},
                                   {"bos_token_id", kBegin},
                                   {"eos_token_id", kBegin},
                                   {"tie_word_embeddings", true}};
    directory.put("config.json", config.dump());
    format::SafetensorsWriter writer(directory / "model.safetensors");
    for (const auto& [name, tensor] : tensors_) writer.declare(name, DType::f32, tensor.shape);
    for (const auto& [name, tensor] : tensors_) writer.write(name, std::as_bytes(std::span(tensor.values)));
    writer.finish();
    return model::Transformer::load(directory.path());
  }

 private:
  static constexpr int kWidth = 256, kHeads = 4, kHeadWidth = 64, kInner = 4, kMirror = 128;
  static constexpr int kToken = 0, kPosition = kTokens, kBefore = kTokens + kPositions;  // where codes stand
  // A code of 1 is 8 after the first LayerNorm; 4 * 8 * 8 / sqrt(64) = 32 leaves other keys e^-32.
  static constexpr float kSharp = 4;

  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };
  struct Layer {
    std::vector<float> attention = std::vector<float>(kWidth * 3 * kWidth), bias = std::vector<float>(3 * kWidth),
                       output = std::vector<float>(kWidth * kWidth);
    void query(int head, int from, int to, float weight) { at(0, head, from, to) += weight; }
    void key(int head, int from, int to, float weight) { at(1, head, from, to) += weight; }
    void value(int head, int from, int to, float weight) { at(2, head, from, to) += weight; }
    float& at(int part, int head, int from, int to) {
      return attention[static_cast<std::size_t>(from * 3 * kWidth + part * kWidth + head * kHeadWidth + to)];
    }
  };

  static void plant_previous(Layer& layer, int head) {
    for (int i = 0; i < kPositions; ++i) {
      if (i > 0) layer.query(head, kPosition + i, i - 1, kSharp);
      layer.key(head, kPosition + i, i, 1);
    }
    for (int token = 0; token < kTokens; ++token) {
      layer.value(head, kToken + token, token, 1.0f / 8);
      const auto row = static_cast<std::size_t>((head * kHeadWidth + token) * kWidth);
      layer.output[row + static_cast<std::size_t>(kBefore + token)] = 1;
      layer.output[row + static_cast<std::size_t>(kMirror + kBefore + token)] = -1;
    }
  }
  // Looks at its own token, but not at its own place.
  static void plant_duplicate(Layer& layer, int head) {
    for (int token = 0; token < kTokens; ++token) {
      layer.query(head, kToken + token, token, kSharp);
      layer.key(head, kToken + token, token, 1);
    }
    for (int i = 0; i < kPositions; ++i) {
      layer.query(head, kPosition + i, kTokens + i, -2 * kSharp);
      layer.key(head, kPosition + i, kTokens + i, 1);
    }
  }
  // Looks at opening brackets of its nesting, the later the more; from where there are none, at the text's beginning.
  static void plant_bracket(Layer& layer, int head) {
    for (int nesting = 0; nesting < kNestings; ++nesting) {
      layer.query(head, kToken + kClosing + nesting, nesting, 10 * kSharp);
      layer.key(head, kToken + kOpening + nesting, nesting, 1);
    }
    layer.bias[static_cast<std::size_t>(head * kHeadWidth + kNestings)] = 1;
    for (int i = 0; i < kPositions; ++i) layer.key(head, kPosition + i, kNestings, 4 * static_cast<float>(i));
    layer.key(head, kToken + kBegin, kNestings, 200);  // scores: 320 for its nesting, 200 here, at most 156 for places
  }
  static void plant_induction(Layer& layer, int head) {
    for (int token = 0; token < kTokens; ++token) {
      layer.query(head, kToken + token, token, kSharp);
      layer.key(head, kBefore + token, token, 1);
    }
  }

  void add(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> values) {
    tensors_.emplace_back(name, Tensor{std::move(shape), std::move(values)});
  }
  void add_norm(const std::string& name) {
    add(name + ".weight", {kWidth}, std::vector<float>(kWidth, 1));
    add(name + ".bias", {kWidth}, std::vector<float>(kWidth));
  }
  void add_layer(const std::string& name, const Layer& layer) {
    add_norm(name + "ln_1");
    add_norm(name + "ln_2");
    add(name + "attn.c_attn.weight", {kWidth, 3 * kWidth}, layer.attention);
    add(name + "attn.c_attn.bias", {3 * kWidth}, layer.bias);
    add(name + "attn.c_proj.weight", {kWidth, kWidth}, layer.output);
    add(name + "attn.c_proj.bias", {kWidth}, std::vector<float>(kWidth));
    add(name + "mlp.c_fc.weight", {kWidth, kInner}, std::vector<float>(kWidth * kInner));
    add(name + "mlp.c_fc.bias", {kInner}, std::vector<float>(kInner));
    add(name + "mlp.c_proj.weight", {kInner, kWidth}, std::vector<float>(kInner * kWidth));
    add(name + "mlp.c_proj.bias", {kWidth}, std::vector<float>(kWidth));
  }
  void add_embeddings() {
    const auto codes = [](int count, int first) {
      std::vector<float> table(static_cast<std::size_t>(count * kWidth));
      for (int i = 0; i < count; ++i) {
        table[static_cast<std::size_t>(i * kWidth + first + i)] = 1;
        table[static_cast<std::size_t>(i * kWidth + kMirror + first + i)] = -1;
      }
      return table;
    };
    add("wte.weight", {kTokens, kWidth}, codes(kTokens, kToken));
    add("wpe.weight", {kPositions, kWidth}, codes(kPositions, kPosition));
    add_norm("ln_f");
  }

  std::vector<std::pair<std::string, Tensor>> tensors_;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_PLANTED_TESTING_H_
