#ifndef SIGHTLINE_CLI_GENERATE_FILES_H_
#define SIGHTLINE_CLI_GENERATE_FILES_H_

#include <optional>

#include "cli/options.h"
#include "src/engine/session.h"

namespace sightline::cli {

/// Throws UsageError where a state is wanted of what has none to keep.
void require_states_together(const Options& options);

/// Whether --load-state goes on without a prompt.
bool goes_on_alone(const Options& options);

/// Takes from the file of --load-state, if it is given, what the options leave open: types of the cache, the context,
/// the seed. Throws BadArgument where they say otherwise than the file.
void take_state_settings(const Options& options, model::GenerationOptions& how);

/// The generation that the options ask for, from a prompt or a state; says what was reused.
engine::PromptedGeneration begin_generation(const engine::Session& session, const Options& options,
                                            const std::optional<engine::Prompt>& prompt,
                                            const model::GenerationOptions& how);

/// Writes the file of --save-state, if it is given, and says so. A signal that comes meanwhile leaves the old one.
void save_state(const engine::Session& session, const Options& options, engine::PromptedGeneration& prompted);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_GENERATE_FILES_H_
