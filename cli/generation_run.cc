#include "cli/generation_run.h"

#include <fmt/core.h>

#include <random>

#include "cli/cache_options.h"
#include "cli/interrupt.h"
#include "src/ops/sampling.h"

namespace sightline::cli {
namespace {

model::DropRule drop_rule(const Options& options) {
  if (options.audit && options.drop.empty()) {
    throw UsageError("--audit tells what --drop loses: name a rule with --drop");
  }
  if (options.drop.empty()) return {};
  try {
    return model::parse_drop_rule(options.drop);
  } catch (const BadArgument& error) {
    throw UsageError(fmt::format("--drop {}: {}", options.drop, error.what()));
  }
}

// Where nothing is sampled none is drawn.
std::uint64_t chosen_seed(const Options& options) {
  const std::int64_t seed = options.seed.value_or(-1);
  if (seed < -1) throw UsageError(fmt::format("--seed is {}: it can be -1, 0 or more", seed));
  if (!(options.temperature > 0)) return 0;
  return seed == -1 ? std::random_device{}() : static_cast<std::uint64_t>(seed);
}

}  // namespace

bool PromptProgress::advance(std::int64_t done, std::int64_t total) {
  const double share = static_cast<double>(done) / static_cast<double>(total);
  try {
    if (output_ != nullptr && !output_->reading(share)) return false;
    if (line_) (*line_)(share);
  } catch (const Interrupted&) {  // threads of the kernel are no place for it
  }
  return interrupting_signal() == 0;
}

void PromptProgress::show_on(GenerationOutput& output) {
  if (!output.shows_progress()) return;
  line_.reset();
  output_ = &output;
}

void PromptProgress::end() {
  line_.reset();
  output_ = nullptr;
}

model::GenerationOptions generation_options(const Options& options, Progress& progress) {
  model::GenerationOptions generation;
  generation.max_tokens = options.max_tokens.value_or(-1);
  generation.context = options.context;
  generation.cache = cache_options(options);
  generation.cache.drop = drop_rule(options);
  generation.audit = options.audit;
  generation.sampling = {
      options.temperature, options.top_k, options.top_p, options.min_p, options.repeat_penalty, options.repeat_last, 0};
  ops::require_sampling(generation.sampling);
  generation.sampling.seed = chosen_seed(options);
  generation.stop_texts = options.stop_texts;
  generation.progress = &progress;
  generation.watch = watch_options(options);
  generation.log_probability = options.json || !options.output.empty();
  return generation;
}

namespace {

// How a run came to its end, said once everywhere.
void end_run(model::Generation& generation, GenerationOutput& output, const RunRecord& record, std::string_view how) {
  output.end(how, generation.flush());
  record.finish(how);
}

}  // namespace

void stream(model::Generation& generation, GenerationOutput& output, RunRecord& record, PromptProgress& progress,
            bool wants_state) {
  output.begin();
  try {
    if (generation.end() && wants_state) generation.read_prompt();
    generation.run([&](const model::GeneratedToken& token) {
      progress.end();
      record.add(token);
      return output.token(token) && interrupting_signal() == 0;
    });
  } catch (const Cancelled&) {
    progress.end();
    end_run(generation, output, record, "cancelled");
    return check_interrupt();  // none: the user has left the screen
  } catch (const ClosedPipe&) {
    record.save("cancelled");
    throw;
  } catch (const Error&) {
    progress.end();
    end_run(generation, output, record, generation.is_full() ? "context full" : "error");
    throw;
  }
  progress.end();
  end_run(generation, output, record, end_name(*generation.end()));
  check_interrupt();
}

}  // namespace sightline::cli
