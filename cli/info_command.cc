#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "cli/architecture_text.h"
#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/painter.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/model_facts.h"

namespace sightline::cli {
namespace {

constexpr int kNameWidth = 14;

class InfoView {
 public:
  InfoView(Painter& painter, const engine::ModelFacts& facts, bool gguf)
      : painter_(painter), facts_(facts), gguf_(gguf) {}

  void add() {
    painter_.accent(shown(facts_.name)).newline();
    add_architecture();
    add_weights();
    add_tokenizer();
    for (const std::string& warning : facts_.warnings) line("note", warning);
  }

 private:
  std::string shown(std::string_view text) const { return displayable(text, painter_.terminal().utf8); }

  // A value that is wider than the terminal goes on below itself.
  void line(std::string_view name, std::string_view value) {
    const int width = std::max(20, painter_.terminal().width - kNameWidth);
    std::string rest = shown(value);
    for (bool first = true; first || !rest.empty(); first = false) {
      std::string_view left = rest;
      std::string part = display_width(rest) <= width ? take_columns(left, width) : broken(left, width);
      painter_.soft(pad_right(first ? name : "", kNameWidth, painter_.terminal().utf8)).text(part).newline();
      rest = std::string(left);
    }
  }

  // Off the front of `text`: what fits, up to a space if there is one.
  static std::string broken(std::string_view& text, int width) {
    std::string_view rest = text;
    std::string part = take_columns(rest, width);
    const std::size_t space = part.rfind(' ');
    if (space != std::string::npos && space > 0) part.resize(space);
    text.remove_prefix(part.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    return part;
  }

  void add_architecture() {
    const model::TransformerConfig& config = facts_.config;
    line(gguf_ ? "file" : "directory", facts_.path.string());
    line("architecture",
         config.architecture.empty() ? config.family : fmt::format("{} ({})", config.architecture, config.family));
    line("layers", config.layer_groups == config.layers
                       ? grouped(config.layers)
                       : fmt::format("{}, sharing the weights of {}", config.layers, config.layer_groups));
    line("heads", heads_text(config));
    line("attention", attention_text(config));
    line("positions", positions_text(config));
    line("norms", norms_text(config));
    line("width", feed_forward_text(config));
    line("output", output_text(config));
    line("longest text", fmt::format("{} tokens", grouped(facts_.max_tokens)));
  }

  void add_weights() {
    line("parameters", grouped(facts_.parameters));
    line("weights",
         fmt::format("{} tensors, {} bytes", grouped(facts_.weights.tensors), grouped(facts_.weights.bytes)));
    for (const auto& [type, held] : facts_.weights.types) {
      line("", fmt::format("{}: {} numbers in {} tensors, {} bytes ({:.0f} %)", type, grouped(held.elements),
                           grouped(held.tensors), grouped(held.bytes),
                           100.0 * static_cast<double>(held.bytes) / static_cast<double>(facts_.weights.bytes)));
    }
  }

  void add_tokenizer() {
    if (!facts_.tokenizer) {
      line("tokenizer", gguf_ ? "none: the file has none" : "none: the directory has no tokenizer.json");
      return;
    }
    const engine::TokenizerFacts& tokenizer = *facts_.tokenizer;
    line("tokenizer",
         fmt::format("{}, {} tokens{}", tokenizer.kind, grouped(static_cast<std::int64_t>(tokenizer.vocabulary)),
                     tokenizer.special_tokens == 0 ? ", none added to a text"
                                                   : fmt::format(", {} added to a text", tokenizer.special_tokens)));
    if (tokenizer.file_padding)
      line("", fmt::format("its file pads to {} tokens: not applied", *tokenizer.file_padding));
    if (tokenizer.file_truncation)
      line("", fmt::format("its file cuts to {} tokens: not applied", *tokenizer.file_truncation));
  }

  Painter& painter_;
  const engine::ModelFacts& facts_;
  bool gguf_;
};

}  // namespace

void run_info(const Options& options) {
  const engine::ModelLocation location = chosen_model(options);
  engine::ModelFacts facts = engine::inspect_model(location.path, open_options(options));
  facts.name = location.name;
  Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
  InfoView(painter, facts, location.gguf).add();
  write_output(painter.result());
}

}  // namespace sightline::cli
