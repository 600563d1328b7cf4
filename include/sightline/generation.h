#ifndef SIGHTLINE_GENERATION_H_
#define SIGHTLINE_GENERATION_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/model.h"

namespace sightline::model {

/// How the next token is taken from logits, in the order of llama.cpp's samplers: repeat penalty (Keskar et al. 2019),
/// top-k (Fan et al. 2018), top-p (Holtzman et al. 2020), min-p (Nguyen et al. 2024), temperature, draw. Its filters
/// are on by default (40, 0.95, 0.05); here each is off until it is asked for. The same seed gives the same tokens
/// everywhere.
struct SamplingOptions {
  double temperature = 0;         // logits are divided by it; 0: the likeliest token, of equals the lowest id
  std::int64_t top_k = 0;         // the k likeliest; 0: all
  double top_p = 1;               // the likeliest that together have p of the probability of those left, (0, 1]; 1: all
  double min_p = 0;               // those with at least so much of the likeliest token's probability, [0, 1]; 0: all
  double repeat_penalty = 1;      // above 0; logits of tokens seen lately: above 0 divided by it, else multiplied
  std::int64_t repeat_last = 64;  // how many tokens "lately" is; -1: all of them, 0: none
  std::uint64_t seed = 0;
};

/// What is observed of every step of a generation.
struct WatchOptions {
  int top = 4;            // keys a map, 1..64; 0: none
  bool key_mass = false;  // what each key received so far, by which H2O (Zhang et al. 2023) keeps keys; takes 64 bytes
                          // for each head and token of the context
  bool row_weights = false;  // all weights of the row, a mean over heads in each layer
  int head = -1;             // those of this head alone (from 0) in its place
};

/// What one row of every map looked at: the row of the token at `row`, which the next token was taken from. Arrays are
/// dense, [layers, heads, ...].
struct StepSight {
  std::int64_t row = 0;   // position of the query
  std::int64_t keys = 0;  // row + 1
  int layers = 0, heads = 0, top = 0;
  std::int32_t segments = 0;
  std::vector<float> entropy;         // [layers, heads] -sum w ln w over the keys, in nats: 0 to ln(keys)
  std::vector<float> sink_weight;     // [layers, heads] of a learned sink (gpt-oss), which is no key; empty without one
  std::vector<std::int32_t> top_key;  // [layers, heads, top] positions, largest weight first; -1: none
  std::vector<float> top_weight;      // [layers, heads, top]
  std::vector<float>
      segment_mass;             // [layers, heads, segments] sum of the weights on each; the last is what is generated
  std::vector<float> key_mass;  // [layers, heads, keys] sum over all rows so far, the prompt's too; empty unless asked
  std::vector<float> row_weights;  // [layers, keys] the row's weights: of WatchOptions::head, or the mean over heads
  int head = -1;                   // whose those are; -1: the mean
};

/// What a text goes on from. Segments are parts of it (a system prompt, a document, a question) whose weight is summed
/// in every row; what is generated is a segment of its own, numbered after those of the prompt.
struct PromptTokens {
  std::vector<std::int32_t> ids;            // with those that begin a text (Tokenizer::encode gives them)
  std::vector<std::int32_t> segments = {};  // of each token, -1 = none, to generated(); empty: none are observed
  std::int32_t segment_count = 0;

  /// The segment of generated tokens.
  std::int32_t generated() const { return segment_count; }
};

/// What a generation leaves, for another to go on from: its tokens, keys and values of those that went through, what
/// keys received so far, and how far its random numbers are. It belongs to the model that made it.
class GenerationState {
 public:
  GenerationState(GenerationState&&) noexcept;
  GenerationState& operator=(GenerationState&&) noexcept;
  ~GenerationState();

  std::span<const std::int32_t> tokens() const;  // of the prompt, and those generated
  /// All of them as a prompt, which goes on where the text stopped. Those generated keep their segment, which is
  /// PromptTokens::generated().
  PromptTokens prompt() const;
  /// How many of the first tokens went through, so that another generation need not run them: all but the last, or
  /// fewer where the prompt was broken off.
  std::int64_t kept() const;
  std::int64_t context() const;  // tokens that there is room for
  ContextOptions cache() const;
  bool has_key_mass() const;
  std::uint64_t seed() const;
  std::int64_t bytes() const;  // of keys, values and mass
  /// What the caller calls the segments of the prompt. Kept for it, and not used.
  const std::vector<std::string>& segment_names() const;
  void name_segments(std::vector<std::string> names);

  struct Impl;
  explicit GenerationState(std::unique_ptr<Impl> impl);
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Tokens that a context holds unless more are asked for, where the model takes as many.
inline constexpr std::int64_t kDefaultContext = 4096;

struct GenerationOptions {
  std::int64_t max_tokens = -1;  // new ones; -1: until something ends the text
  std::int64_t context = 0;      // tokens, the prompt's and new ones; 0: kDefaultContext, or the model's limit below it
  ContextOptions cache = {};     // with a rule of dropping keys go once the prompt is through, and one with each token
  bool audit = false;  // where keys go: keep them aside, and the whole text's keys beside, to tell what is lost
  SamplingOptions sampling = {};
  std::vector<std::string> stop_texts = {};    // UTF-8, none empty; what stops a text is not given
  std::vector<std::int32_t> stop_tokens = {};  // beside Model::end_tokens
  std::optional<WatchOptions> watch = {};
  bool log_probability = false;
  std::vector<KnockOut> knock_outs = {};  // ranges without an end are of tokens to come, too
  int threads = 0;                        // as ForwardOptions::threads; no result depends on it
  std::int64_t piece = 512;               // tokens of the prompt in a pass, at least 1; no result depends on it
  Progress* progress = nullptr;  // told of the prompt's tokens as they go through; false ends a pass with Cancelled
};

/// A token as it comes.
struct GeneratedToken {
  std::int32_t id = 0;
  std::string text;  // UTF-8 that it completes, whole characters alone; with the last token also what was held back
  std::optional<double> log_probability;  // natural, under the model's own distribution, before any sampling option
  const StepSight* sight = nullptr;       // until the next token; null unless GenerationOptions::watch
  /// With an audit: what the row that it was taken from would have given to evicted keys, the mean of all maps.
  std::optional<double> evicted_mass;
};

/// Where a generation that drops keys leaves the text that it would write with all of them, sampled from the same seed.
struct Departure {
  std::int64_t index = 0;  // of the generated token, from 0
  std::int32_t id = 0, full_id = 0;
  std::string piece, full_piece;  // as the vocabulary spells them
};

enum class EndKind : std::uint8_t { end_token, stop_token, stop_text, length, cancelled };

/// What ended a generation.
struct GenerationEnd {
  EndKind kind = EndKind::length;
  std::int32_t token = -1;  // of end_token and stop_token
  std::string text;         // of stop_text
};
/// "eos 7", "stop 7", "stop text", "length", "cancelled".
std::string end_name(const GenerationEnd& end);

/// A text that a model writes on, token by token. Tokens, and what is observed, have the bits of passes over the whole
/// text without a cache, whatever the pieces of the prompt and the threads (where the cache keeps fp32). Each has a
/// context of its own; many may run at once on one model, each in one thread at a time. The model and the options need
/// not outlive the constructor, but for `progress`. One that was moved from takes another, or goes away.
///
///     const auto model = sightline::model::open("model.gguf");
///     sightline::model::Generation generation(model, "The capital of France is", {.max_tokens = 20});
///     generation.run([](const auto& token) { return std::fputs(token.text.c_str(), stdout) >= 0; });
class Generation {
 public:
  using OnToken = std::function<bool(const GeneratedToken&)>;

  /// The prompt goes through with the first next(). Throws BadArgument for options out of range, a model that writes no
  /// text (an encoder, or one without an output matrix), a prompt without a token or longer than the context, and
  /// segments that do not fit it; OutOfMemory.
  Generation(const Model& model, PromptTokens prompt, const GenerationOptions& options = {});
  /// The same from a text, as the tokenizer reads it: what spells a special token in it is text like any other. Throws
  /// BadArgument also for one that is not UTF-8.
  Generation(const Model& model, std::string_view prompt, const GenerationOptions& options = {});
  /// The same with what an earlier one left, moved: tokens that both have in common at their beginning do not run
  /// again, the others of the prompt do. Where key mass is watched it is a sum over all rows; if some of the state
  /// would have to go, or it has no sums, all tokens run. A sampled text with the state's seed goes on with its next
  /// random number, with another from that seed's first. Throws BadArgument also for a state of another model, and for
  /// other types of the cache than the state's; the state is then as it was.
  Generation(const Model& model, PromptTokens prompt, const GenerationOptions& options, GenerationState&& state);
  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;
  ~Generation();

  /// The next token, or nothing once the text has ended. The token that ends it is given with the others, without a
  /// text of its own; what begins a stop text is held back. Throws BadArgument where the context is full (is_full()
  /// says so before) or the prompt has an id that is not the model's, Cancelled, BadFile where no logit is a number,
  /// OutOfMemory. Nothing follows an exception, but text(), tokens() and flush() have what there is.
  std::optional<GeneratedToken> next();
  /// The same until the text ends, each token for `on_token`; false ends it as cancelled, which leaves what was held
  /// back to flush(). What it throws comes through, and another run() goes on after that token.
  const GenerationEnd& run(const OnToken& on_token);

  /// Lets all of the prompt but its last token go through, which comes with the next token. Throws what next() throws.
  void read_prompt();
  /// Gives up what another can go on from, at any time, also after an exception: tokens that went through are kept. No
  /// token comes after that: next() is a BadArgument. Throws BadArgument, too, where keys are dropped or edges knocked
  /// out, and the constructor does for such options.
  GenerationState take_state();
  std::int64_t resumed() const;  // tokens of the prompt that did not run, since a state had them

  /// Text that was held back, where the caller goes no further: of a character that was cut, U+FFFD.
  std::string flush();

  /// Of which head the next steps give row_weights, from 0; -1: the mean. Throws BadArgument where there is no such
  /// head, or they are not watched.
  void watch_head(int head);

  const std::optional<GenerationEnd>& end() const;
  const PromptTokens& prompt() const;
  const std::string& text() const;               // all that was given
  std::span<const std::int32_t> tokens() const;  // generated
  bool is_full() const;                          // the context has no room for another token
  std::int64_t context() const;                  // tokens that it holds
  std::int64_t cache_bytes() const;              // of keys and values now, without what an audit keeps aside

  /// What has become of the keys; null where none are dropped, and while the prompt is read.
  const DropAccount* drops() const;
  /// Of an audited generation; nothing as long as its text is that of the full cache.
  const std::optional<Departure>& departure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes a state as a file (docs/generate.md), beside its place and then renamed: after an exception what stood there
/// is as it was. `model`: the one it is of, whose weights are read to name them. Throws BadFile, BadArgument for a
/// state of another model, Cancelled where `progress` says to stop, which is told of the tensors written;
/// std::bad_alloc.
void save_state(const std::filesystem::path& path, const Model& model, const GenerationState& state,
                Progress* progress = nullptr);

/// What a file says of the state in it.
struct StateFacts {
  std::int64_t context = 0;  // tokens that there was room for
  std::int64_t tokens = 0, kept = 0;
  ContextOptions cache = {};
  bool key_mass = false;
  std::uint64_t seed = 0, drawn = 0;  // numbers of the seed that sampling has taken
  std::vector<std::string> segment_names = {};
};
/// Reads what a file says, without its keys and values. Throws BadFile, also for one of another version.
StateFacts inspect_state(const std::filesystem::path& path);

/// Where a state is loaded to.
struct StateRoom {
  std::int64_t context = 0;    // tokens; 0: as many as it had
  std::int64_t page_size = 0;  // as ContextOptions::page_size
};
/// A state that save_state() wrote. Throws BadFile for what is no such file, for a damaged one (it has a checksum), and
/// for a state of another model, other weights, another tokenizer or another arithmetic version, each in its own words;
/// BadArgument for a context that has no room for it; OutOfMemory, std::bad_alloc.
GenerationState load_state(const std::filesystem::path& path, const Model& model, const StateRoom& room = {});

/// Bytes that a generation's cache and observations take beside what a pass needs, known before they are taken, but for
/// what a page is rounded up by. Throws BadArgument for a context that the model does not take.
std::int64_t generation_bytes(const TransformerConfig& config, const GenerationOptions& options);

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_H_
