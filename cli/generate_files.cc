#include "cli/generate_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/interrupt.h"
#include "cli/streams.h"
#include "sightline/error.h"

namespace sightline::cli {
namespace {

// Stops where a signal comes that had not come before.
class SaveProgress : public Progress {
 public:
  bool advance(std::int64_t, std::int64_t) override { return interrupting_signal() == before_; }

 private:
  const int before_ = interrupting_signal();
};

void take_type(const std::string& file, const char* option, bool given, DType has, DType& type) {
  if (given && type != has) {
    throw BadArgument(fmt::format("{} was saved with a cache of {}, and {} asks for {}: leave {} out", file,
                                  dtype_name(has), option, dtype_name(type), option));
  }
  type = has;
}

}  // namespace

void require_states_together(const Options& options) {
  if (options.save_state.empty() && options.load_state.empty()) return;
  const auto refuse = [](bool given, const char* what) {
    if (given) throw UsageError(fmt::format("a state holds all keys of a text as it is: leave {} out", what));
  };
  refuse(!options.knock_outs.empty(), "--block");
  refuse(!options.drop.empty(), "--drop");
  if (!goes_on_alone(options)) return;
  const auto refuse_alone = [](bool given, const char* what) {
    if (given)
      throw UsageError(fmt::format("{} is about a prompt, and --load-state goes on without one: add -p", what));
  };
  refuse_alone(options.markers, "--markers");
  refuse_alone(!options.segments.empty(), "--segment");
  refuse_alone(options.special, "--special");
  refuse_alone(!options.chat_template.empty(), "--chat-template");
  refuse_alone(!options.tools.empty(), "--tools");
}

bool goes_on_alone(const Options& options) {
  return !options.load_state.empty() && !options.text && options.file.empty() && options.messages.empty();
}

void take_state_settings(const Options& options, model::GenerationOptions& how) {
  if (options.load_state.empty()) return;
  const model::StateFacts facts = model::inspect_state(options.load_state);
  take_type(options.load_state, "-ctk", !options.key_type.empty(), facts.cache.keys, how.cache.keys);
  take_type(options.load_state, "-ctv", !options.value_type.empty(), facts.cache.values, how.cache.values);
  if (how.context == 0) how.context = facts.context;
  if (how.context < facts.tokens) {
    throw BadArgument(fmt::format("{} has {} tokens and the context holds {}: make it larger (-c)", options.load_state,
                                  facts.tokens, how.context));
  }
  if (!options.seed && facts.drawn > 0) how.sampling.seed = facts.seed;
}

engine::PromptedGeneration begin_generation(const engine::Session& session, const Options& options,
                                            const std::optional<engine::Prompt>& prompt,
                                            const model::GenerationOptions& how) {
  if (options.load_state.empty()) return session.generate(*prompt, how, options.knock_outs);
  model::GenerationState state = session.load_state(options.load_state, how);
  const bool without_mass = !state.has_key_mass() && how.watch && how.watch->key_mass && state.kept() > 0;
  engine::PromptedGeneration prompted = session.resume(std::move(state), prompt, how);
  if (without_mass) {
    write_note(fmt::format(
        "{} was saved without the mass that keys received, which this run reports: all its tokens run again "
        "(save it with --json or -o to keep it)",
        options.load_state));
  } else {
    write_note(fmt::format("resumed after {} tokens", prompted.generation.resumed()));
  }
  return prompted;
}

void save_state(const engine::Session& session, const Options& options, engine::PromptedGeneration& prompted) {
  if (options.save_state.empty()) return;
  SaveProgress progress;
  std::int64_t through = 0;
  try {
    through = session.save_state(options.save_state, prompted, &progress);
  } catch (const Cancelled&) {
    throw Interrupted{interrupting_signal()};
  }
  const auto tokens = prompted.generation.prompt().ids.size() + prompted.generation.tokens().size();
  write_note(fmt::format("saved the state of {} tokens in {}: {} went through", tokens, options.save_state, through));
}

}  // namespace sightline::cli
