#include "cli/architecture_text.h"

#include <fmt/core.h>

#include <functional>
#include <string_view>

namespace sightline::cli {
namespace {

using model::TransformerConfig;

std::string_view name_of(model::Activation activation) {
  switch (activation) {
    case model::Activation::gelu:
      return "GELU";
    case model::Activation::gelu_tanh:
      return "GELU (tanh)";
    case model::Activation::relu:
      return "ReLU";
    case model::Activation::silu:
      return "SiLU";
  }
  return "";
}

std::string_view name_of(model::RopeScaling scaling) {
  switch (scaling) {
    case model::RopeScaling::none:
      return "";
    case model::RopeScaling::linear:
      return "linear";
    case model::RopeScaling::dynamic:
      return "dynamic";
    case model::RopeScaling::yarn:
      return "yarn";
    case model::RopeScaling::longrope:
      return "longrope";
    case model::RopeScaling::llama3:
      return "llama3";
    case model::RopeScaling::divisors:
      return "divisors of the file";
  }
  return "";
}

// "1-5, 7, 9-12": the layers, from 1, for which `holds`.
std::string layer_ranges(std::int64_t layers, const std::function<bool(std::int64_t)>& holds) {
  std::string text;
  for (std::int64_t first = 0; first < layers; ++first) {
    if (!holds(first)) continue;
    std::int64_t last = first;
    while (last + 1 < layers && holds(last + 1)) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first + 1);
    if (last > first) text += fmt::format("-{}", last + 1);
    first = last;
  }
  return text;
}

std::string layers_with(const TransformerConfig& config, const std::function<bool(const model::LayerPattern&)>& holds) {
  const std::string ranges =
      layer_ranges(config.layers, [&](std::int64_t l) { return holds(config.pattern[static_cast<std::size_t>(l)]); });
  return ranges == fmt::format("1-{}", config.layers) || config.layers == 1
             ? "every layer"
             : (ranges.find_first_of("-,") == std::string::npos ? "layer " : "layers ") + ranges;
}

std::string rope_text(const model::Rope& rope) {
  std::string text =
      fmt::format("rotary, base {}, {} numbers of a head", grouped(static_cast<std::int64_t>(rope.base)), rope.width);
  if (rope.adjacent_pairs) text += ", adjacent pairs";
  if (rope.scaling == model::RopeScaling::none) return text;
  text += fmt::format(", {}", name_of(rope.scaling));
  if (rope.factor != 1) text += fmt::format(", factor {:g}", rope.factor);
  if (rope.original_positions > 0) text += fmt::format(", from {} tokens", grouped(rope.original_positions));
  return text;
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string heads_text(const TransformerConfig& config) {
  const std::string groups =
      config.kv_heads == config.query_heads ? "" : fmt::format(", {} for keys and values", config.kv_heads);
  const std::string norms = config.query_key_norm ? ", queries and keys normalised" : "";
  return fmt::format("{} a layer, {} numbers each{}{}", config.query_heads, config.head_width, groups, norms);
}

std::string attention_text(const TransformerConfig& config) {
  std::string text = config.causal ? "causal: a token sees itself and those before it" : "both ways: a token sees all";
  std::int64_t last = 0;
  for (const model::LayerPattern& layer : config.pattern) {
    if (layer.window == 0 || layer.window == last) continue;
    const std::int64_t window = last = layer.window;
    text += fmt::format("; the last {} tokens in {}", grouped(window),
                        layers_with(config, [&](const auto& other) { return other.window == window; }));
  }
  if (config.attention_scale) text += fmt::format("; scores times {:.4g}", *config.attention_scale);
  if (config.attention_softcap > 0) text += fmt::format("; scores capped at {:g}", config.attention_softcap);
  if (config.sinks) text += "; a sink a head";
  return text;
}

std::string positions_text(const TransformerConfig& config) {
  if (config.position_embedding) return "learned, a vector each";
  if (config.ropes.size() == 1) return rope_text(config.ropes.front());
  std::string text;
  for (std::size_t i = 0; i < config.ropes.size(); ++i) {
    const auto index = static_cast<int>(i);
    text += fmt::format("{}{} in {}", i ? "; " : "", rope_text(config.ropes[i]),
                        layers_with(config, [&](const auto& layer) { return layer.rope == index; }));
  }
  return text;
}

std::string norms_text(const TransformerConfig& config) {
  const char* place = "after each block";
  if (config.norm_place == model::NormPlace::before) place = "before each block";
  if (config.norm_place == model::NormPlace::around) place = "before and after each block";
  return fmt::format("{} {}, epsilon {:g}{}", config.norm == model::NormKind::rms_norm ? "RMSNorm" : "LayerNorm", place,
                     config.norm_epsilon, config.parallel_residual ? ", blocks side by side" : "");
}

std::string feed_forward_text(const TransformerConfig& config) {
  const std::string inner = fmt::format("{} inside the feed-forward layers", grouped(config.inner_width));
  switch (config.mlp) {
    case model::MlpKind::plain:
      return fmt::format("{}, {} ({})", grouped(config.width), inner, name_of(config.activation));
    case model::MlpKind::gated:
      return fmt::format("{}, {} (gated {})", grouped(config.width), inner, name_of(config.activation));
    case model::MlpKind::experts:
      return fmt::format("{}, {}, {} experts of which {} are used", grouped(config.width), inner, config.experts.count,
                         config.experts.used);
  }
  return "";
}

std::string output_text(const TransformerConfig& config) {
  if (config.language_head == model::LanguageHead::none) return "none: hidden states alone";
  std::string text = config.tied_embeddings ? "the word embedding's matrix" : "a matrix of its own";
  if (config.logit_softcap > 0) text += fmt::format(", logits capped at {:g}", config.logit_softcap);
  return text;
}

}  // namespace sightline::cli
