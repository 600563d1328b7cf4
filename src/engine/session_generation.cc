// A session's generations; looks are in session.cc.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/engine/generation_file.h"
#include "src/engine/look_memory.h"
#include "src/engine/memory.h"
#include "src/engine/session.h"
#include "src/engine/words.h"

namespace sightline::engine {
namespace {

// A generation's options with the context that the session's limit leaves.
model::GenerationOptions with_context(const model::GenerationOptions& options, const ModelFacts& model) {
  model::GenerationOptions whole = options;
  whole.context = context_tokens(model, options.context);
  return whole;
}

}  // namespace

MemoryPlan Session::plan_generation(const model::GenerationOptions& options, std::int32_t segments) const {
  const model::GenerationOptions whole = with_context(options, facts_);
  MemoryPlan plan;
  plan.weights = facts_.weights.bytes;
  plan.kept = model::generation_bytes(facts_.config, whole);
  const std::int64_t rows = std::min(whole.piece, whole.context);
  const int top = whole.watch ? whole.watch->top : 0;
  const std::int32_t all = whole.watch ? segments + 1 : kFixedSegments;  // and what is generated
  plan.workspace = static_cast<std::int64_t>(pass_bytes(facts_, rows, options_.threads, top, all));
  return plan;
}

void Session::require_generation_memory(const model::GenerationOptions& options, std::int64_t taken,
                                        std::int32_t segments) const {
  MemoryPlan plan = plan_generation(options, segments);
  plan.kept -= std::min(plan.kept, taken);
  require_memory(plan, memory(),
                 "make the context smaller (-c), keep it in fewer bytes (-ctk, -ctv), or take a smaller model");
}

void Session::require_run_memory(const model::GenerationOptions& options, std::int32_t segments) const {
  const model::GenerationOptions whole = with_context(options, facts_);
  const std::int64_t steps = options.max_tokens < 0 ? whole.context : std::min(options.max_tokens, whole.context);
  MemoryPlan plan = plan_generation(whole, segments);
  plan.kept += GenerationFile::bytes(facts_.config, steps, whole.watch ? whole.watch->top : 0, segments + 1);
  require_memory(plan, memory(), "ask for fewer tokens (-n), make the context smaller (-c), or leave -o out");
}

std::vector<TextKnockOut> Session::resolve(std::span<const std::string> knock_outs, const ReadPrompt& read,
                                           bool goes_on) const {
  const Axis words = words_of_tokens(read.text, read.tokens, /*cut=*/false);
  const std::vector<std::string> names = goes_on ? read.segments.names_with_generated() : read.segments.names;
  return resolve_knock_outs(knock_outs, {.model = facts_,
                                         .words = words,
                                         .tokens = read.tokens,
                                         .segment_names = names,
                                         .segment_of_token = read.segments.of_token,
                                         .growing = goes_on ? read.segments.count() : -1});
}

PromptedGeneration Session::prompted(ReadPrompt&& read, std::vector<TextKnockOut>&& knock_outs,
                                     model::Generation&& generation) const {
  return {std::move(read.text),  std::move(read.tokens), std::move(read.segments),
          std::move(knock_outs), model_.tokenizer,       std::move(generation)};
}

PromptedGeneration Session::generate(const Prompt& prompt, const model::GenerationOptions& options,
                                     std::span<const std::string> knock_outs) const {
  return within_memory(kNoMemoryForGeneration, [&] {
    model::GenerationOptions whole = with_context(options, facts_);
    whole.threads = options_.threads;
    ReadPrompt read = this->read(prompt, facts_.config.causal);
    std::vector<TextKnockOut> blocked = resolve(knock_outs, read, /*goes_on=*/true);
    for (model::KnockOut& one : model_knock_outs(blocked, facts_.config)) whole.knock_outs.push_back(std::move(one));
    require_generation_memory(whole, 0, read.segments.count());
    model::Generation generation(model_, read.ids(), whole);
    return prompted(std::move(read), std::move(blocked), std::move(generation));
  });
}

PromptedGeneration Session::generate(const Prompt& prompt, const model::GenerationOptions& options,
                                     model::GenerationState&& state) const {
  return within_memory(kNoMemoryForGeneration,
                       [&] { return go_on(this->read(prompt, facts_.config.causal), options, std::move(state)); });
}

PromptedGeneration Session::go_on(ReadPrompt&& read, const model::GenerationOptions& options,
                                  model::GenerationState&& state) const {
  model::GenerationOptions whole = with_context(options, facts_);
  whole.threads = options_.threads;
  require_generation_memory(whole, state.bytes(), read.segments.count());
  model::Generation generation(model_, read.ids(), whole, std::move(state));
  return prompted(std::move(read), {}, std::move(generation));
}

PromptedGeneration Session::resume(model::GenerationState&& state, const std::optional<Prompt>& more,
                                   const model::GenerationOptions& options) const {
  return within_memory(kNoMemoryForGeneration, [&] {
    ReadPrompt read = this->read(state);
    if (more) {
      Prompt behind = *more;
      behind.add_special = false;
      read.append(this->read(behind, /*causal=*/false));  // its first token is not the text's
    }
    return go_on(std::move(read), options, std::move(state));
  });
}

model::GenerationState Session::load_state(const std::filesystem::path& path,
                                           const model::GenerationOptions& options) const {
  return within_memory(kNoMemoryForGeneration, [&] {
    const model::GenerationOptions whole = with_context(options, facts_);
    require_generation_memory(whole, 0);
    return model::load_state(path, model_, {.context = whole.context, .page_size = whole.cache.page_size});
  });
}

std::int64_t Session::save_state(const std::filesystem::path& path, PromptedGeneration& prompted,
                                 Progress* progress) const {
  return within_memory(kNoMemoryForState, [&] {
    model::GenerationState state = prompted.generation.take_state();
    state.name_segments(prompted.segments.names);
    model::save_state(path, model_, state, progress);
    return state.kept();
  });
}

}  // namespace sightline::engine
