#include "src/engine/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/engine/generation_file.h"
#include "src/engine/look_data.h"
#include "src/engine/look_memory.h"
#include "src/engine/memory.h"
#include "src/engine/pass_progress.h"
#include "src/engine/token_label.h"
#include "src/engine/words.h"
#include "src/observe/top_capacity.h"
#include "src/tokenizer/unicode.h"

namespace sightline::engine {
namespace {

std::vector<LookToken> look_tokens(std::string_view text, const tokenizer::Encoding& encoding,
                                   const tokenizer::Spelling& spelling) {
  const std::vector<std::uint32_t> characters = tokenizer::characters_before(text);
  std::vector<LookToken> tokens;
  tokens.reserve(encoding.tokens.size());
  for (const tokenizer::Token& token : encoding.tokens) {
    tokens.push_back({token.id, token.piece, token.begin, token.end, characters[token.begin], characters[token.end], 0,
                      token.special || token.control, token_label(token, text, spelling)});
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
  if (special >= kMaxTopKeys) {
    throw BadArgument(fmt::format("the tokenizer adds {} special tokens to the text: a look can set at most {} aside",
                                  special, kMaxTopKeys - 1));
  }
  if (options.top < 1 || options.top > kMaxTopKeys - special) {
    throw BadArgument(fmt::format("top is {}: it can be 1 to {}", options.top, kMaxTopKeys - special));
  }
  return static_cast<int>(std::min<std::int64_t>(options.top + special + control, kMaxTopKeys));
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
  const std::vector<model::KnockOut> knock_outs = model_knock_outs(data.knock_outs, data.model.config);
  model::ForwardResult result = transformer.forward({&sequence, 1}, {.threads = data.threads,
                                                                     .observer = &capture,
                                                                     .progress = progress.hook(),
                                                                     .keep_hidden_states = options.hidden,
                                                                     .knock_outs = knock_outs});
  data.hidden_states = std::move(result.hidden_states);
  data.layers = capture.take_layers();
  data.summaries = capture.take_summaries();
}

void require_study(const StudyEntry& entry, const ModelFacts& model, bool text) {
  if (entry.model == StudyNeed::none) {
    throw BadArgument(fmt::format("study {} measures attention alone: leave the model out", entry.name));
  }
  if (entry.decoder && (!model.config.causal || model.config.language_head == model::LanguageHead::none)) {
    throw BadArgument(fmt::format("study {} needs a model that writes text, and {} does not", entry.name, model.name));
  }
  if (text && entry.text == StudyNeed::none) {
    throw BadArgument(fmt::format("study {} reads no text: leave it out", entry.name));
  }
  if (!text && entry.text == StudyNeed::needed) {
    throw BadArgument(fmt::format("study {} measures a text: give one", entry.name));
  }
}

void limit_text(std::int64_t max_tokens, ModelFacts& facts) {
  if (max_tokens > facts.max_tokens) {
    throw BadArgument(fmt::format("texts of {} tokens were asked for, and {} takes at most {}", max_tokens, facts.name,
                                  facts.max_tokens));
  }
  if (max_tokens > 0) facts.max_tokens = max_tokens;
}

std::optional<std::int64_t> memory_of(const SessionOptions& options) {
  return options.memory ? options.memory : available_memory();
}

}  // namespace

Session::Session(std::filesystem::path path, model::Model model, ModelFacts facts, SessionOptions options)
    : path_(std::move(path)), model_(std::move(model)), facts_(std::move(facts)), options_(std::move(options)) {}

Session Session::open(const std::filesystem::path& path, const SessionOptions& options) {
  return within_memory(kNoMemoryForModel, [&] {
    WeightFacts weights = inspect_weights(path);
    require_memory({.weights = weights.bytes}, memory_of(options), "free some, or take a smaller model");
    model::Model model = model::open(path, options.files);
    ModelFacts facts = describe(path, std::move(weights), model.transformer, &model.tokenizer);
    if (!options.name.empty()) facts.name = options.name;
    limit_text(options.max_tokens, facts);
    return Session(path, std::move(model), std::move(facts), options);
  });
}

std::optional<std::int64_t> Session::memory() const { return memory_of(options_); }

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

ReadPrompt Session::read(const Prompt& prompt, bool causal) const {
  ReadPrompt read{prompt.text, look_tokens(prompt.text, encode(prompt), model_.tokenizer.spelling()), {}};
  read.segments = segments_of(read.tokens, causal, prompt.segments);
  return read;
}

ReadPrompt Session::read(const model::GenerationState& state) const {
  tokenizer::Encoding encoding;
  ReadPrompt read;
  read.text = state_text(state, model_.tokenizer, encoding);
  read.tokens = look_tokens(read.text, encoding, model_.tokenizer.spelling());
  read.segments = state_segments(state, read.tokens, facts_.config.causal);
  return read;
}

MemoryPlan Session::plan_bench(const BenchOptions& options) const {
  model::GenerationOptions generation{.context = bench_context(options), .cache = options.cache};
  if (options.watch) generation.watch = model::WatchOptions{.key_mass = true};
  MemoryPlan plan = plan_generation(generation);
  plan.workspace = std::max(plan.workspace, kBandwidthBytes);
  return plan;
}

Bench Session::bench(const BenchOptions& options) const {
  return within_memory(kNoMemoryForBench, [&] {
    BenchOptions whole = options;
    whole.threads = options_.threads;
    require_bench(model_.transformer, whole);
    require_memory(plan_bench(whole), memory(), "measure fewer tokens (-p, -n, -d), or take a smaller model");
    return measure(model_.transformer, whole);
  });
}

analysis::Study Session::study(const StudyEntry& entry, const std::optional<Prompt>& prompt,
                               analysis::StudyOptions options, bool truncate) const {
  options.threads = options_.threads;
  require_study(entry, facts_, prompt.has_value());
  return within_memory(kNoMemoryForStudy, [&] {
    analysis::StudyInput input{
        .transformer = &model_.transformer, .ids = {}, .type_ids = {}, .is_text = {}, .options = options};
    std::vector<std::string> notes;
    if (prompt) {
      const tokenizer::Encoding encoding = encode_for_look(*prompt, truncate);
      for (const tokenizer::Token& token : encoding.tokens) {
        input.ids.push_back(token.id);
        input.type_ids.push_back(token.type_id);
      }
      const std::vector<LookToken> tokens = look_tokens(prompt->text, encoding, model_.tokenizer.spelling());
      for (const std::int32_t segment : segments_of(tokens, facts_.config.causal).of_token) {
        input.is_text.push_back(is_text(segment));
      }
      const bool cut = encoding.cut > 0;
      notes =
          reading_notes(prompt->text, static_cast<std::int64_t>(encoding.cut), dropped_text(prompt->text, tokens, cut));
    }
    analysis::Study study = entry.run(input);
    std::ranges::move(notes, std::back_inserter(study.notes));
    return study;
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
  LookOptions planned = options;
  planned.top = top - special_count(encoding);  // with the slots for control tokens
  require_memory(plan_look(count, planned, segment_count(prompt.segments)), memory(),
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
  data->knock_outs = resolve_knock_outs(options.knock_outs, {.model = facts_,
                                                             .words = data->words,
                                                             .tokens = data->tokens,
                                                             .segment_names = data->segments.names,
                                                             .segment_of_token = data->segments.of_token});
  run_model(model_.transformer, encoding, top, options, *data);
  return Look(data);
}

}  // namespace sightline::engine
