#ifndef SIGHTLINE_CLI_GENERATION_OUTPUT_H_
#define SIGHTLINE_CLI_GENERATION_OUTPUT_H_

#include <memory>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "cli/run_record.h"

namespace sightline::cli {

/// Where a generation goes as it comes.
class GenerationOutput {
 public:
  virtual ~GenerationOutput() = default;

  virtual void begin() {}
  /// How far the prompt is, from any thread; false ends it. None: a line on standard error says it.
  virtual bool shows_progress() const { return false; }
  virtual bool reading(double) { return true; }
  /// False ends the text as cancelled.
  virtual bool token(const model::GeneratedToken& token) = 0;
  /// The text's end: how it came, and what was held back.
  virtual void end(std::string_view how, const std::string& rest) = 0;
};

/// The one that the options ask for: text, lines of JSON, or for --watch a screen or a line a token. All must outlive
/// it.
std::unique_ptr<GenerationOutput> make_generation_output(const Options& options, const engine::ModelFacts& model,
                                                         engine::PromptedGeneration& prompted, const RunRecord& record);

/// What is observed for it; nothing for text alone.
std::optional<model::WatchOptions> watch_options(const Options& options);

/// Text of a model on standard output: a pipe gets it as it is, a terminal lines and tabs, and nothing else that would
/// act on it.
void write_model_text(std::string_view text);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_GENERATION_OUTPUT_H_
