#ifndef SIGHTLINE_ENGINE_SESSION_H_
#define SIGHTLINE_ENGINE_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/generation.h"
#include "sightline/model.h"
#include "src/engine/bench.h"
#include "src/engine/chat.h"
#include "src/engine/heads.h"
#include "src/engine/knock_out.h"
#include "src/engine/look.h"
#include "src/engine/memory_plan.h"
#include "src/engine/model_facts.h"
#include "src/engine/model_location.h"
#include "src/engine/prompt.h"
#include "src/engine/resumed_prompt.h"
#include "src/engine/score.h"
#include "src/engine/study.h"
#include "src/engine/why.h"

namespace sightline::engine {

/// The longest text that is read at all: far over what any model takes, so that a device cannot fill the memory.
inline constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

struct SessionOptions {
  int threads = 0;                       // 0: one a processor
  std::string name = {};                 // of the model, for display; empty: that of its directory or file
  std::int64_t max_tokens = 0;           // of a text, at most; 0: as many as the model takes
  model::OpenOptions files = {};         // how its files are read
  std::optional<std::int64_t> memory{};  // bytes that may be taken; none: what the system has available
};

struct LookOptions {
  bool truncate = false;  // cut a text that is over the model's length instead of refusing it
  int top = 4;            // keys kept a row, 1..64 less the number of special tokens (which are kept on top of it)
  std::vector<int> keep_layers = {};         // layers, from 1, that can be looked into afterwards; empty: all
  bool hidden = false;                       // keep the hidden states, for SavedTensors
  std::vector<std::string> knock_outs = {};  // as parse_knock_out() reads them; all of them hold at once
  Progress* progress = nullptr;              // told of the pass as it goes on; false ends it with Cancelled
};

/// A text that a model writes on, and the prompt as it was read.
struct PromptedGeneration {
  std::string text;  // of the prompt
  std::vector<LookToken> prompt;
  Segments segments;  // of the prompt; what is generated is the one after them
  std::vector<TextKnockOut> knock_outs;
  tokenizer::Tokenizer tokenizer;
  model::Generation generation;
};

/// A model and its tokenizer, ready to look at texts. The one way through for command line, server, page and Python:
/// text -> tokens -> model -> attention -> report. Nothing but `look()`, `score()`, `score_targets()`, `why()`,
/// `head_roles()`, `study()`, `bench()` and what `generate()` gives runs a model. Safe for concurrent calls.
class Session {
 public:
  /// Opens a directory in Hugging Face layout (config.json, model.safetensors or shards, tokenizer.json) or a GGUF
  /// file. Throws BadFile (also for a tokenizer with more tokens than the model embeds), UnsupportedModel, BadArgument
  /// for a max_tokens that the model does not take, OutOfMemory where the weights alone are more than there is memory
  /// for.
  static Session open(const std::filesystem::path& path, const SessionOptions& options = {});

  const ModelFacts& model() const { return facts_; }

  /// One forward pass that observes every head, and one more of attention alone with special keys hidden (for
  /// `text_entropy`). Throws BadArgument for a text that is empty, that leaves no token, that is not UTF-8 (naming the
  /// byte), or that is longer than the model's limit without `truncate` (naming limit and length), and for a layer in
  /// `keep_layers` that the model does not have, or a knock-out of what is not there; Cancelled; OutOfMemory, also
  /// before the pass where plan_look() is more than there is.
  Look look(const Prompt& prompt, const LookOptions& options = {}) const;

  /// A text that goes on from `prompt`, of which nothing has run yet, with the session's threads; its segments are
  /// those of a look and what is generated. `knock_outs`: as parse_knock_out() reads them, beside those of the options;
  /// words are those of the prompt. Throws what model::Generation's constructor throws; OutOfMemory, also where
  /// plan_generation() is more than there is.
  PromptedGeneration generate(const Prompt& prompt, const model::GenerationOptions& options = {},
                              std::span<const std::string> knock_outs = {}) const;

  /// The same from a state, and `more`, if there is any, behind its text: no token of the tokenizer's own comes
  /// between.
  PromptedGeneration resume(model::GenerationState&& state, const std::optional<Prompt>& more,
                            const model::GenerationOptions& options) const;
  /// A state of this model with the context of `options`. Throws what model::load_state() throws; OutOfMemory, also
  /// before, where plan_generation() is more than there is.
  model::GenerationState load_state(const std::filesystem::path& path, const model::GenerationOptions& options) const;
  /// Gives up the state of a generation, and writes it to a file with the names of its segments; returns how many of
  /// its tokens went through. Throws what model::save_state() throws.
  std::int64_t save_state(const std::filesystem::path& path, PromptedGeneration& prompted,
                          Progress* progress = nullptr) const;
  /// The same with what an earlier generation of this session left, as model::Generation's constructor has it: what
  /// both texts begin with need not run again.
  PromptedGeneration generate(const Prompt& prompt, const model::GenerationOptions& options,
                              model::GenerationState&& state) const;

  /// The chat template that turns messages into prompts: of those that the model has the one named so, the file of that
  /// path, or with an empty `name` the model's own. Throws BadArgument that says what there is; BadFile and
  /// UnsupportedModel for the template.
  Chat chat(std::string_view name = {}) const { return Chat::open(path_, name); }

  /// Throws OutOfMemory where a generation, with all steps of it kept for a GenerationFile, takes more than there is.
  /// `segments`: those of its prompt, as segment_count() has them.
  void require_run_memory(const model::GenerationOptions& options, std::int32_t segments = kFixedSegments) const;

  /// What generate() will take, of a prompt with so many segments.
  MemoryPlan plan_generation(const model::GenerationOptions& options = {},
                             std::int32_t segments = kFixedSegments) const;

  /// How likely each token of a text is after those before it. A text longer than the context goes through in windows
  /// (ScoreOptions::stride). Throws BadArgument for a model that writes no text, options out of range, a knock-out of
  /// what is not there and a text of which no token can be scored; OutOfMemory, also where plan_score() is more than
  /// there is; BadFile where the model gives no number.
  Score score(const Prompt& prompt, const ScoreOptions& options = {}) const;

  /// How likely each of the targets is as what comes after the prompt. All are scored from the same token on: the first
  /// that is not the prompt's own, or earlier where a target changes how the prompt's end is read. Throws as score()
  /// does, where prompt and target are longer than the context, and for knock-outs where the prompt's end is read anew.
  TargetScores score_targets(const Prompt& prompt, std::span<const std::string> targets,
                             const ScoreOptions& options = {}) const;

  /// What score() of so many tokens will take.
  MemoryPlan plan_score(std::int64_t tokens, const ScoreOptions& options = {}) const;

  /// Where a word looks, and what changes without each of its edges (docs/why.md): a look for the weights, then passes
  /// without an edge or a head each. Throws as look() and score_targets() do, and BadArgument for a word, maps or
  /// answers that there are not; what was knocked out before the caller's progress ended it is kept.
  Why why(const Prompt& prompt, const WhyOptions& options) const;

  /// What why() of so many tokens will take.
  MemoryPlan plan_why(std::int64_t tokens) const;

  /// How fast the model is here (measure()), with the session's threads. Throws what measure() throws; OutOfMemory,
  /// also where plan_bench() is more than there is.
  Bench bench(const BenchOptions& options = {}) const;

  /// What roles the heads have, each with its score and its baseline (docs/heads.md). Throws BadArgument for texts
  /// longer than the model takes, a layer or head that is not there, and where no role has enough examples; BadFile for
  /// the files; OutOfMemory.
  HeadRoles head_roles(const HeadsOptions& options = {}) const;

  /// What bench() will take.
  MemoryPlan plan_bench(const BenchOptions& options = {}) const;

  /// What a claim comes to on this model, on a text if one is given (cut to the model's length with `truncate`). Throws
  /// BadArgument as look() does for texts, for a text that the study needs or has no use for, and for a model that
  /// writes no text where one is needed; what the study throws.
  analysis::Study study(const StudyEntry& entry, const std::optional<Prompt>& prompt,
                        analysis::StudyOptions options = {}, bool truncate = false) const;

  /// How many tokens look() would read, special ones counted; throws as it does for texts. With look_bytes() this says
  /// before the pass what it will take.
  std::int64_t token_count(const Prompt& prompt, bool truncate = false) const;

  /// What look() of so many tokens, in so many segments, will take.
  MemoryPlan plan_look(std::int64_t tokens, const LookOptions& options = {},
                       std::int32_t segments = kFixedSegments) const;

 private:
  Session(std::filesystem::path path, model::Model model, ModelFacts facts, SessionOptions options);
  Look look_at(const Prompt& prompt, const LookOptions& options) const;
  tokenizer::Encoding encode(const Prompt& prompt, std::size_t max_length = 0) const;
  ReadPrompt read(const Prompt& prompt, bool causal) const;
  ReadPrompt read(const model::GenerationState& state) const;
  std::vector<TextKnockOut> resolve(std::span<const std::string> knock_outs, const ReadPrompt& read,
                                    bool goes_on) const;
  PromptedGeneration prompted(ReadPrompt&& read, std::vector<TextKnockOut>&& knock_outs,
                              model::Generation&& generation) const;
  PromptedGeneration go_on(ReadPrompt&& read, const model::GenerationOptions& options,
                           model::GenerationState&& state) const;
  void require_generation_memory(const model::GenerationOptions& options, std::int64_t taken,
                                 std::int32_t segments = kFixedSegments) const;
  tokenizer::Encoding encode_for_look(const Prompt& prompt, bool truncate) const;
  ReadPrompt read_for_score(const Prompt& prompt) const;
  std::vector<LookToken> scored_tokens(ReadPrompt&& read) const;
  void run_windows(const ScoreOptions& options, std::int64_t prefix, Score& result) const;
  void run_targets(const ScoreOptions& options, std::int64_t longest, TargetScores& result) const;
  analysis::Output why_output(const Prompt& prompt, const Look& look, const AxisItem& row,
                              const WhyOptions& options) const;
  std::vector<WhyMeasure> why_measures(const analysis::EdgeSweep& sweep, const WhyOptions& options) const;
  std::vector<std::int32_t> answer_at_place(const std::string& answer) const;
  std::vector<std::int32_t> answer_after(const Prompt& prompt, const std::vector<std::int32_t>& text,
                                         const std::string& answer) const;
  std::optional<std::int64_t> memory() const;

  std::filesystem::path path_;
  model::Model model_;
  ModelFacts facts_;
  SessionOptions options_;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_SESSION_H_
