#ifndef SIGHTLINE_CLI_GENERATION_RUN_H_
#define SIGHTLINE_CLI_GENERATION_RUN_H_

#include <optional>

#include "cli/generation_output.h"
#include "cli/options.h"
#include "cli/streams.h"

namespace sightline::cli {

/// Says how far the prompt is, on the output's screen or on standard error, and ends a pass when a signal came.
class PromptProgress : public Progress {
 public:
  bool advance(std::int64_t done, std::int64_t total) override;
  void show_on(GenerationOutput& output);
  /// The first token is there: what follows is the text.
  void end();

 private:
  GenerationOutput* output_ = nullptr;
  std::optional<ProgressLine> line_{std::in_place, "reading the prompt:"};
};

/// How the options ask for a text. Throws UsageError, BadArgument.
model::GenerationOptions generation_options(const Options& options, Progress& progress);

/// All tokens, until the text ends or a signal comes, which is thrown as Interrupted after the output's end, as are
/// errors. Where there are none to come and the state is wanted, the prompt alone goes through.
void stream(model::Generation& generation, GenerationOutput& output, RunRecord& record, PromptProgress& progress,
            bool wants_state);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_GENERATION_RUN_H_
