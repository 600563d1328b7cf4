#include "src/engine/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/engine/look_data.h"
#include "src/engine/look_memory.h"
#include "src/engine/memory.h"
#include "src/engine/pass_progress.h"
#include "src/engine/words.h"
#include "src/tokenizer/display.h"

namespace sightline::engine {
namespace {

constexpr int kMaxTop = 64;  // what the kernel keeps a row

// Number of code points that begin before each byte of the text, and before its end.
std::vector<std::uint32_t> characters_before(std::string_view text) {
  std::vector<std::uint32_t> before(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool continuation = (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
    before[i + 1] = before[i] + !continuation;
  }
  return before;
}

std::string label_of(const tokenizer::Token& token, std::string_view text, const tokenizer::Spelling& spelling) {
  if (token.special || token.control || !spelling.continuing.empty()) return token.piece;
  const tokenizer::TokenText shown = tokenizer::text_of(token, text, spelling);
  if (shown.whole) return shown.text;
  std::string bytes;
  for (const char byte : shown.text) bytes += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return bytes;
}

std::vector<LookToken> look_tokens(std::string_view text, const tokenizer::Encoding& encoding,
                                   const tokenizer::Spelling& spelling) {
  const std::vector<std::uint32_t> characters = characters_before(text);
  std::vector<LookToken> tokens;
  tokens.reserve(encoding.tokens.size());
  for (const tokenizer::Token& token : encoding.tokens) {
    tokens.push_back({token.id, token.piece, token.begin, token.end, characters[token.begin], characters[token.end], 0,
                      token.special || token.control, label_of(token, text, spelling)});
  }
  return tokens;
}

void number_words(const Axis& words, std::vector<LookToken>& tokens) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    for (std::int64_t i = words[w].token_begin; i < words[w].token_end; ++i) {
      tokens[static_cast<std::size_t>(i)].word = static_cast<std::int64_t>(w);
    }
  }
}

int special_count(const tokenizer::Encoding& encoding) {
  int count = 0;
  for (const tokenizer::Token& token : encoding.tokens) count += token.special;
  return count;
}

void require_text(std::string_view text, const tokenizer::Encoding& encoding) {
  if (std::cmp_equal(encoding.tokens.size(), special_count(encoding))) {
    throw BadArgument(text.empty() ? "the text is empty: give a text to look at"
                                   : "nothing in the text becomes a token: it holds only white space or characters "
                                     "that the tokenizer drops");
  }
}

// Special tokens come on top of `top`, so that leaving them out still leaves `top` keys; control tokens that stand in
// the text as far as there are slots.
int kernel_top(const LookOptions& options, const tokenizer::Encoding& encoding) {
  const int special = special_count(encoding);
  const auto control = std::ranges::count_if(encoding.tokens, &tokenizer::Token::control);
  if (special >= kMaxTop) {
    throw BadArgument(fmt::format("the tokenizer adds {} special tokens to the text: a look can set at most {} aside",
                                  special, kMaxTop - 1));
  }
  if (options.top < 1 || options.top > kMaxTop - special) {
    throw BadArgument(fmt::format("top is {}: it can be 1 to {}", options.top, kMaxTop - special));
  }
  return static_cast<int>(std::min<std::int64_t>(options.top + special + control, kMaxTop));
}

void run_model(const model::Transformer& transformer, const tokenizer::Encoding& encoding, int top,
               const LookOptions& options, Look::Data& data) {
  std::vector<std::int32_t> ids, types;
  for (const tokenizer::Token& token : encoding.tokens) {
    ids.push_back(token.id);
    types.push_back(token.type_id);
  }
  PassProgress progress(options.progress, 2 * data.model.config.layers);  // attention, and again for text entropy
  const std::vector<int> keep = distinct_layers(options.keep_layers);
  Capture capture({&data.segments, keep, top, data.threads, &progress});
  const model::TokenSequence sequence{ids, types};
  model::ForwardResult result = transformer.forward({&sequence, 1}, {.threads = data.threads,
                                                                     .observer = &capture,
                                                                     .progress = progress.hook(),
                                                                     .keep_hidden_states = options.hidden});
  data.hidden_states = std::move(result.hidden_states);
  data.layers = capture.take_layers();
  data.summaries = capture.take_summaries();
}

std::optional<std::int64_t> memory_for(const SessionOptions& options) {
  return options.memory ? options.memory : available_memory();
}

void limit_text(std::int64_t max_tokens, ModelFacts& facts) {
  if (max_tokens > facts.max_tokens) {
    throw BadArgument(fmt::format("texts of {} tokens were asked for, and {} takes at most {}", max_tokens, facts.name,
                                  facts.max_tokens));
  }
  if (max_tokens > 0) facts.max_tokens = max_tokens;
}

// A generation's options with the context that the session's limit leaves.
model::GenerationOptions with_context(const model::GenerationOptions& options, const ModelFacts& model) {
  model::GenerationOptions whole = options;
  if (whole.context == 0) whole.context = std::min(model.max_tokens, model::kDefaultContext);
  if (whole.context > model.max_tokens) {
    throw BadArgument(fmt::format("a context of {} tokens was asked for, and {} takes at most {}", whole.context,
                                  model.name, model.max_tokens));
  }
  return whole;
}

}  // namespace

Session::Session(std::filesystem::path path, model::Model model, ModelFacts facts, SessionOptions options)
    : path_(std::move(path)), model_(std::move(model)), facts_(std::move(facts)), options_(std::move(options)) {}

Session Session::open(const std::filesystem::path& path, const SessionOptions& options) {
  return within_memory(kNoMemoryForModel, [&] {
    WeightFacts weights = inspect_weights(path);
    require_memory({.weights = weights.bytes}, memory_for(options), "free some, or take a smaller model");
    model::Model model = model::open(path, options.files);
    ModelFacts facts = describe(path, std::move(weights), model.transformer, &model.tokenizer);
    if (!options.name.empty()) facts.name = options.name;
    limit_text(options.max_tokens, facts);
    return Session(path, std::move(model), std::move(facts), options);
  });
}

tokenizer::Encoding Session::encode(const Prompt& prompt, std::size_t max_length) const {
  if (prompt.text.size() > kMaxTextBytes) {
    throw BadArgument(fmt::format("the text has {} bytes: at most {} are read", prompt.text.size(), kMaxTextBytes));
  }
  require_segments(prompt.segments, prompt.text.size());
  tokenizer::EncodeOptions how;
  how.add_special = prompt.add_special;
  how.max_length = max_length;
  how.parse_special = prompt.special;
  how.plain = prompt.plain;
  return model_.tokenizer.encode(prompt.text, how);
}

tokenizer::Encoding Session::encode_for_look(const Prompt& prompt, bool truncate) const {
  const auto limit = static_cast<std::size_t>(facts_.max_tokens);
  tokenizer::Encoding encoding = encode(prompt);
  require_text(prompt.text, encoding);
  if (encoding.tokens.size() <= limit) return encoding;
  if (!truncate) {
    const std::string most = options_.max_tokens > 0 ? fmt::format("texts were limited to {}: raise that limit,", limit)
                                                     : fmt::format("{} takes at most {}:", facts_.name, limit);
    throw BadArgument(fmt::format("the text has {} tokens and {} shorten the text, or cut it with --truncate",
                                  encoding.tokens.size(), most));
  }
  return encode(prompt, limit);
}

std::int64_t Session::token_count(const Prompt& prompt, bool truncate) const {
  return within_memory(kNoMemoryForText,
                       [&] { return static_cast<std::int64_t>(encode_for_look(prompt, truncate).tokens.size()); });
}

MemoryPlan Session::plan_look(std::int64_t tokens, const LookOptions& options, std::int32_t segments) const {
  MemoryPlan plan;
  plan.weights = facts_.weights.bytes;
  plan.kept = static_cast<std::int64_t>(look_bytes(facts_, tokens, options.keep_layers, options.top, segments) +
                                        (options.hidden ? hidden_bytes(facts_, tokens) : 0));
  plan.workspace = static_cast<std::int64_t>(pass_bytes(facts_, tokens, options_.threads, options.top, segments));
  return plan;
}

MemoryPlan Session::plan_generation(const model::GenerationOptions& options) const {
  const model::GenerationOptions whole = with_context(options, facts_);
  MemoryPlan plan;
  plan.weights = facts_.weights.bytes;
  plan.kept = model::generation_bytes(facts_.config, whole);
  const std::int64_t rows = std::min(whole.piece, whole.context);
  const int top = whole.watch ? whole.watch->top : 0;
  plan.workspace = static_cast<std::int64_t>(pass_bytes(facts_, rows, options_.threads, top));
  return plan;
}

PromptedGeneration Session::generate(const Prompt& prompt, const model::GenerationOptions& options) const {
  return generate_from(prompt, options, nullptr);
}

PromptedGeneration Session::generate(const Prompt& prompt, const model::GenerationOptions& options,
                                     model::GenerationState&& state) const {
  return generate_from(prompt, options, &state);
}

// Where there is a state its memory is taken already.
PromptedGeneration Session::generate_from(const Prompt& prompt, const model::GenerationOptions& options,
                                          model::GenerationState* state) const {
  return within_memory(kNoMemoryForGeneration, [&] {
    model::GenerationOptions whole = with_context(options, facts_);
    whole.threads = options_.threads;
    std::vector<LookToken> tokens = look_tokens(prompt.text, encode(prompt), model_.tokenizer.spelling());
    Segments segments = segments_of(tokens, facts_.config.causal, prompt.segments);
    model::PromptTokens read;
    for (const LookToken& token : tokens) read.ids.push_back(token.id);
    read.segments = segments.of_token;
    read.segment_count = segments.count();
    if (state == nullptr) {
      require_memory(plan_generation(whole), memory_for(options_),
                     "make the context smaller (-c), keep it in fewer bytes (-ctk, -ctv), or take a smaller model");
    }
    model::Generation generation = state == nullptr
                                       ? model::Generation(model_, std::move(read), whole)
                                       : model::Generation(model_, std::move(read), whole, std::move(*state));
    return PromptedGeneration{prompt.text, std::move(tokens), std::move(segments), std::move(generation)};
  });
}

Look Session::look(const Prompt& prompt, const LookOptions& options) const {
  return within_memory(kNoMemoryForText, [&] { return look_at(prompt, options); });
}

Look Session::look_at(const Prompt& prompt, const LookOptions& options) const {
  require_layers(facts_, options.keep_layers);
  const std::string& text = prompt.text;
  const tokenizer::Encoding encoding = encode_for_look(prompt, options.truncate);
  const int top = kernel_top(options, encoding);
  const auto count = static_cast<std::int64_t>(encoding.tokens.size());
  require_memory(plan_look(count, options, segment_count(prompt.segments)), memory_for(options_),
                 "give a shorter text, keep fewer layers, or take a smaller model");

  const auto data = std::make_shared<Look::Data>();
  data->model = facts_;
  data->threads = options_.threads;
  data->text = text;
  data->tokens = look_tokens(text, encoding, model_.tokenizer.spelling());
  data->cut_tokens = encoding.cut;
  data->top = options.top;
  data->words = words_of_tokens(text, data->tokens, encoding.cut > 0);
  data->words.shrink_to_fit();
  data->dropped = dropped_text(text, data->tokens, encoding.cut > 0);
  number_words(data->words, data->tokens);
  data->segments = segments_of(data->tokens, facts_.config.causal, prompt.segments);
  data->answers = prompt.answers;
  run_model(model_.transformer, encoding, top, options, *data);
  return Look(data);
}

}  // namespace sightline::engine
