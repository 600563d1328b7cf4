#ifndef SIGHTLINE_ENGINE_GENERATION_H_
#define SIGHTLINE_ENGINE_GENERATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/engine/decoding.h"
#include "src/engine/look.h"
#include "src/engine/stop_text.h"
#include "src/tokenizer/text_stream.h"

namespace sightline::engine {

/// Tokens that a context holds unless more are asked for, where the model takes as many.
inline constexpr std::int64_t kDefaultContext = 4096;

struct GenerationOptions {
  std::int64_t max_tokens = -1;  // new ones; -1: until something ends the text
  std::int64_t context = 0;      // tokens, the prompt's and new ones; 0: kDefaultContext, or the model's limit below it
  model::ContextOptions cache = {};
  ops::SamplingOptions sampling = {};
  std::vector<std::string> stop_texts = {};
  std::vector<std::int32_t> stop_tokens = {};  // beside those that the model's files name
  bool special = false;                        // what spells a special token in the prompt is that token
  std::optional<WatchOptions> watch = {};
  bool log_probability = false;
  std::int64_t piece = 512;      // tokens of the prompt in a pass; no result depends on it
  Progress* progress = nullptr;  // of the prompt; see DecodingOptions
};

/// Segments of keys that a generation tells apart: those of a look (Segment), and what was generated.
inline constexpr std::int32_t kSegmentGenerated = kSegments;
inline constexpr std::int32_t kGenerationSegments = kSegments + 1;

/// A token as it comes.
struct GeneratedToken {
  std::int32_t id = 0;
  std::string text;  // UTF-8 that it completes, whole characters alone; with the last token also what was held back
  std::optional<double> log_probability;  // under the model's own distribution, before any sampling option
  const StepSight* sight = nullptr;       // until the next token; null unless GenerationOptions::watch
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

/// A text that a model writes on, token by token. Made by Session::generate().
class Generation {
 public:
  using OnToken = std::function<bool(const GeneratedToken&)>;

  /// What a session gives: the prompt as it was read, and the tokens that the model's files name as ends.
  struct Start {
    model::Model model;
    std::vector<LookToken> prompt;
    std::vector<std::int32_t> end_tokens;
    int threads = 0;
  };
  Generation(Start start, const GenerationOptions& options);

  /// The next token, or nothing once the text has ended. The token that ends it is given with the others, without a
  /// text of its own; what begins a stop text is held back. Throws BadArgument where the context is full, and what
  /// Decoding::next() throws; then and after Cancelled, text() and flush() still have what there is.
  std::optional<GeneratedToken> next();
  /// The same until the text ends, each token for `on_token`; false ends it as cancelled.
  const GenerationEnd& run(const OnToken& on_token);

  /// Text that was held back, where the caller goes no further: of a character that was cut, U+FFFD.
  std::string flush();

  const std::optional<GenerationEnd>& end() const { return end_; }
  const std::vector<LookToken>& prompt() const { return prompt_; }
  const std::vector<std::int32_t>& prompt_segments() const { return prompt_segments_; }
  const std::string& text() const { return text_; }  // all that was given
  std::span<const std::int32_t> tokens() const { return decoding_.tokens().subspan(prompt_.size()); }
  bool is_full() const { return decoding_.is_full(); }  // the context has no room for another token
  std::int64_t context() const { return decoding_.room(); }

 private:
  std::optional<GenerationEnd> end_of(std::int32_t token) const;
  std::string taken(std::string text);

  std::vector<LookToken> prompt_;
  std::vector<std::int32_t> prompt_segments_, end_tokens_, stop_tokens_;
  std::int64_t max_tokens_;
  bool log_probability_;
  Decoding decoding_;
  tokenizer::TextStream stream_;
  StopText stops_;
  std::string text_;
  std::optional<GenerationEnd> end_;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_GENERATION_H_
