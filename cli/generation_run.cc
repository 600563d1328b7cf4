#include "cli/generation_run.h"

#include <fmt/core.h>

#include <map>
#include <random>

#include "cli/interrupt.h"
#include "src/ops/sampling.h"

namespace sightline::cli {
namespace {

// llama.cpp's names of types; of its blocks of 32 ours that keep as many bits: a scale for a row, not for 32 numbers.
DType cache_type(const std::string& name, const char* option) {
  static const std::map<std::string, DType> kTypes = {
      {"", DType::f32},        {"f32", DType::f32},       {"f16", DType::f16},  {"bf16", DType::bf16},
      {"q8_0", DType::i8_row}, {"i8_row", DType::i8_row}, {"q4_1", DType::q4_1}};
  const auto found = kTypes.find(name);
  if (found == kTypes.end()) {
    throw UsageError(fmt::format("{} is {}: it can be f32, f16, bf16, q8_0 or q4_1", option, name));
  }
  return found->second;
}

std::uint64_t chosen_seed(const Options& options) {
  const std::int64_t seed = options.seed.value_or(-1);
  if (seed < -1) throw UsageError(fmt::format("--seed is {}: it can be -1, 0 or more", seed));
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
  generation.cache.keys = cache_type(options.key_type, "-ctk");
  generation.cache.values = cache_type(options.value_type, "-ctv");
  generation.sampling = {
      options.temperature, options.top_k, options.top_p, options.min_p, options.repeat_penalty, options.repeat_last, 0};
  ops::require_sampling(generation.sampling);
  if (options.temperature > 0) generation.sampling.seed = chosen_seed(options);
  generation.stop_texts = options.stop_texts;
  generation.progress = &progress;
  generation.watch = watch_options(options);
  generation.log_probability = options.json;
  return generation;
}

void stream(model::Generation& generation, GenerationOutput& output, PromptProgress& progress) {
  try {
    generation.run([&](const model::GeneratedToken& token) {
      progress.end();
      return output.token(token) && interrupting_signal() == 0;
    });
  } catch (const Cancelled&) {
    progress.end();
    output.end("cancelled", generation.flush());
    return check_interrupt();  // none: the user has left the screen
  } catch (const Error& error) {
    progress.end();
    output.end(generation.is_full() ? "context full" : "error", generation.flush());
    throw;
  }
  progress.end();
  output.end(end_name(*generation.end()), generation.flush());
  check_interrupt();
}

}  // namespace sightline::cli
