#include <fmt/core.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/painter.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/model_facts.h"

namespace sightline::cli {
namespace {

// 22713216 -> "22,713,216"
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string_view name_of(model::Activation activation) {
  switch (activation) {
    case model::Activation::gelu:
      return "GELU";
    case model::Activation::gelu_tanh:
      return "GELU (tanh)";
    case model::Activation::relu:
      return "ReLU";
  }
  return "";
}

class InfoView {
 public:
  InfoView(Painter& painter, const engine::ModelFacts& facts, const engine::WeightFacts& weights)
      : painter_(painter), facts_(facts), weights_(weights) {}

  void add() {
    painter_.accent(shown(facts_.name)).newline();
    add_architecture();
    add_weights();
    add_tokenizer();
    for (const std::string& warning : facts_.warnings) line("note", warning);
  }

 private:
  std::string shown(std::string_view text) const { return displayable(text, painter_.terminal().utf8); }

  void line(std::string_view name, std::string_view value) {
    painter_.soft(pad_right(name, 14, painter_.terminal().utf8)).text(shown(value)).newline();
  }

  void add_architecture() {
    const model::TransformerConfig& config = facts_.config;
    line("directory", facts_.directory.string());
    line("architecture",
         config.architecture.empty() ? config.family : fmt::format("{} ({})", config.architecture, config.family));
    line("layers", grouped(config.layers));
    const std::string groups =
        config.kv_heads == config.query_heads ? "" : fmt::format(", {} for keys and values", config.kv_heads);
    line("heads", fmt::format("{} a layer, {} numbers each{}", config.query_heads, config.head_width, groups));
    line("width", fmt::format("{}, {} inside the feed-forward layers ({})", grouped(config.width),
                              grouped(config.inner_width), name_of(config.activation)));
    line("longest text", fmt::format("{} tokens", grouped(config.max_positions)));
  }

  void add_weights() {
    std::string dtypes;
    for (const auto& [dtype, elements] : weights_.dtypes) {
      dtypes += fmt::format("{}{} {}", dtypes.empty() ? "" : ", ", grouped(elements), dtype);
    }
    line("parameters", grouped(facts_.parameters));
    line("weights",
         fmt::format("{} tensors, {} bytes: {}", grouped(weights_.tensors), grouped(weights_.bytes), dtypes));
  }

  void add_tokenizer() {
    if (!facts_.tokenizer) {
      line("tokenizer", "none: the directory has no tokenizer.json");
      return;
    }
    const engine::TokenizerFacts& tokenizer = *facts_.tokenizer;
    line("tokenizer",
         fmt::format("{}, {} tokens", tokenizer.kind, grouped(static_cast<std::int64_t>(tokenizer.vocabulary))));
    if (tokenizer.file_padding)
      line("", fmt::format("its file pads to {} tokens: not applied", *tokenizer.file_padding));
    if (tokenizer.file_truncation)
      line("", fmt::format("its file cuts to {} tokens: not applied", *tokenizer.file_truncation));
  }

  Painter& painter_;
  const engine::ModelFacts& facts_;
  const engine::WeightFacts& weights_;
};

}  // namespace

void run_info(const Options& options) {
  const std::filesystem::path directory = chosen_model(options).path;
  const engine::ModelFacts facts = engine::inspect_model(directory);
  const engine::WeightFacts weights = engine::inspect_weights(directory);
  Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
  InfoView(painter, facts, weights).add();
  write_output(painter.result());
}

}  // namespace sightline::cli
