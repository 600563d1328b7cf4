#include "cli/generation_output.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/display_text.h"
#include "cli/interrupt.h"
#include "cli/streams.h"
#include "cli/watch_lines.h"
#include "cli/watch_view.h"

namespace sightline::cli {
namespace {

constexpr int kWatchedTop = 8;  // keys a map: what a screen has of heads that were not watched

// A line's end after the text on a terminal, where the text has none.
void end_line(const model::Generation& generation) {
  if (isatty(STDOUT_FILENO) && !generation.text().empty() && !generation.text().ends_with('\n')) write_output("\n");
}

class TextOutput : public GenerationOutput {
 public:
  explicit TextOutput(const model::Generation& generation) : generation_(generation) {}

  bool token(const model::GeneratedToken& token) override {
    write_model_text(token.text);
    return true;
  }
  void end(std::string_view, const std::string& rest) override {
    write_model_text(rest);
    end_line(generation_);
  }

 private:
  const model::Generation& generation_;
};

class JsonOutput : public GenerationOutput {
 public:
  JsonOutput(const Options& options, const model::Generation& generation, const RunRecord& record)
      : options_(options), generation_(generation), record_(record) {}

  void begin() override { write_output(engine::report_text(record_.first_line())); }
  bool token(const model::GeneratedToken& token) override {
    const auto position = std::ssize(generation_.prompt().ids) + std::ssize(generation_.tokens()) - 1;
    write_output(engine::report_text(engine::token_json(token, position, {options_.layer, options_.head})));
    return true;
  }
  void end(std::string_view how, const std::string&) override {
    write_output(engine::report_text(record_.last_line(how)));
  }

 private:
  const Options& options_;
  const model::Generation& generation_;
  const RunRecord& record_;
};

WatchedMaps watched_maps(const Options& options) {
  return {options.layer.value_or(0) - 1, options.head.value_or(0) - 1};
}

class LinesOutput : public GenerationOutput {
 public:
  LinesOutput(const Options& options, const engine::PromptedGeneration& prompted)
      : lines_(prompted, watched_maps(options), static_cast<std::size_t>(options.top.value_or(4)),
               detect_terminal(STDOUT_FILENO, ColourChoice::never).utf8) {}

  bool token(const model::GeneratedToken& token) override {
    write_output(lines_.line(token));
    return true;
  }
  void end(std::string_view, const std::string& rest) override {
    if (!rest.empty()) write_output(lines_.rest(rest));
  }

 private:
  WatchLines lines_;
};

class ScreenOutput : public GenerationOutput {
 public:
  ScreenOutput(const Options& options, const engine::ModelFacts& model, engine::PromptedGeneration& prompted)
      : generation_(prompted.generation), head_(watched_maps(options).head) {
    const WatchFacts facts{model.name, static_cast<int>(model.config.layers),
                           static_cast<int>(model.config.query_heads), prompted.segments.names_with_generated()};
    view_.emplace(WatchScreen(facts, WatchedText(prompted), watched_maps(options)), options.colour);
  }

  bool shows_progress() const override { return true; }
  bool reading(double share) override { return view_->reading(share); }
  bool token(const model::GeneratedToken& token) override {
    const bool goes_on = view_->token(token);
    if (head_ != view_->maps().head) generation_.watch_head(head_ = view_->maps().head);
    return goes_on;
  }
  // The text remains where the screen was left.
  void end(std::string_view how, const std::string& rest) override {
    view_->end(std::string(how), rest);
    view_.reset();
    write_model_text(generation_.text());
    end_line(generation_);
  }

 private:
  model::Generation& generation_;
  int head_;
  std::optional<WatchView> view_;
};

}  // namespace

void write_model_text(std::string_view text) {
  if (!isatty(STDOUT_FILENO)) return write_output(text);
  static const bool utf8 = detect_terminal(STDOUT_FILENO, ColourChoice::never).utf8;
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\t", at), text.size());
    shown += displayable(text.substr(at, end - at), utf8);
    if (end < text.size()) shown += text[end];
    at = end + 1;
  }
  write_output(shown);
}

std::optional<model::WatchOptions> watch_options(const Options& options) {
  const bool kept = options.json || !options.output.empty();
  if (!kept && !options.watch && !options.segment_table) return std::nullopt;
  model::WatchOptions watch{.top = 0, .key_mass = kept};
  if (kept) watch.top = options.top.value_or(4);
  if (!options.watch) return watch;
  if (WatchTerminal::is_there()) watch.top = std::max(watch.top, kWatchedTop);  // lines read whole rows alone
  watch.row_weights = true;
  watch.head = watched_maps(options).head;
  return watch;
}

std::unique_ptr<GenerationOutput> make_generation_output(const Options& options, const engine::ModelFacts& model,
                                                         engine::PromptedGeneration& prompted,
                                                         const RunRecord& record) {
  if (options.json) return std::make_unique<JsonOutput>(options, prompted.generation, record);
  if (!options.watch) return std::make_unique<TextOutput>(prompted.generation);
  if (WatchTerminal::is_there()) return std::make_unique<ScreenOutput>(options, model, prompted);
  return std::make_unique<LinesOutput>(options, prompted);
}

}  // namespace sightline::cli
