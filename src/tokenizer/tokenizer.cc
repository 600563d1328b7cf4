#include "sightline/tokenizer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <new>
#include <utility>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/hash.h"
#include "src/format/json.h"
#include "src/tokenizer/added_tokens.h"
#include "src/tokenizer/decoder.h"
#include "src/tokenizer/display.h"
#include "src/tokenizer/gguf_tokenizer.h"
#include "src/tokenizer/model.h"
#include "src/tokenizer/normalizer.h"
#include "src/tokenizer/post_processor.h"
#include "src/tokenizer/pre_tokenizer.h"
#include "src/tokenizer/special_text.h"
#include "src/tokenizer/tokenizer_file.h"
#include "src/tokenizer/truncation.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr std::array<std::string_view, 9> kKeys = {"version",        "truncation", "padding",
                                                   "added_tokens",   "normalizer", "pre_tokenizer",
                                                   "post_processor", "decoder",    "model"};

void check_text(std::string_view text) {
  if (text.size() > UINT32_MAX) {
    throw BadArgument("the text has " + std::to_string(text.size()) + " bytes; a tokenizer takes up to 4294967295");
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = decode_char(text, at).length;
    if (length == 0) throw BadArgument("the text is not UTF-8: no character starts at byte " + std::to_string(at));
    at += length;
  }
}

// {"strategy": {"Fixed": 128}, ...} or {"strategy": "BatchLongest", ...}
std::optional<std::size_t> read_fixed_padding(const JsonObject& json) {
  const std::optional<JsonObject> padding = json.find_object("padding");
  if (!padding || !padding->has("strategy") || !padding->value()["strategy"].is_object()) return std::nullopt;
  return static_cast<std::size_t>(padding->require_object("strategy").require_int("Fixed", 0));
}

std::optional<std::size_t> read_truncation(const JsonObject& json) {
  const std::optional<JsonObject> truncation = json.find_object("truncation");
  if (!truncation) return std::nullopt;
  return static_cast<std::size_t>(truncation->require_int("max_length", 0));
}

void check_version(const JsonObject& json) {
  const std::string* version = json.find_string("version");
  if (version == nullptr || *version == "1.0") return;
  throw UnsupportedModel(json.where("version") + " is " + format::quote(*version) +
                         ", which is not supported; \"1.0\" is");
}

// Of a value that was not taken out of the file, since its name is written with escapes, say.
JsonText text_of(const JsonObject& model, std::string_view key) {
  const bool is_array = model.has(key) && model.value()[std::string(key)].is_array();
  return {(is_array ? model.require_array(key) : model.require_object(key).value()).dump(), model.name()};
}

Merges read_merges(const JsonObject& model, const std::optional<JsonText>& taken, const Vocabulary& vocabulary) {
  if (!taken && !model.has("merges")) return {};
  const std::string* prefix = model.find_string("continuing_subword_prefix");
  return {taken ? *taken : text_of(model, "merges"), vocabulary, prefix == nullptr ? 0 : prefix->size()};
}

std::unique_ptr<const Model> read_model(const JsonObject& json, const std::optional<JsonText>& vocabulary_text,
                                        const std::optional<JsonText>& merges_text) {
  Vocabulary vocabulary(vocabulary_text ? *vocabulary_text : text_of(json, "vocab"));
  Merges merges = read_merges(json, merges_text, vocabulary);
  return make_model(json, std::move(vocabulary), std::move(merges));
}

std::string hash_of(std::string_view json) {
  format::Hash hash;
  hash.add(json);
  return hash.text();
}

// Of what read_gguf_tokenizer() reads; a chat template is not part of it.
std::string hash_of(const format::GgufMetadata& metadata, const GgufTokenizerOptions& options) {
  format::Hash hash;
  hash.add(options.pre);
  for (const std::string& key : metadata.keys()) {
    if (!key.starts_with("tokenizer.ggml.")) continue;
    hash.add(key);
    hash.add(metadata.find(key)->bytes);
  }
  return hash.text();
}

bool is_inside_char(std::string_view text, std::size_t at) { return at < text.size() && is_continuation(text[at]); }

// Trimming takes a byte for every space, as the reference does; where the space has more, what is left of it counts.
void keep_whole_chars(std::vector<Token>& tokens, std::string_view text, std::string_view pair) {
  for (Token& token : tokens) {
    const std::string_view source = token.sequence == 1 ? pair : text;
    while (is_inside_char(source, token.begin)) --token.begin;
    while (is_inside_char(source, token.end)) --token.end;
  }
}

}  // namespace

struct Tokenizer::Impl {
  /// `json` is the file without its "model".
  Impl(const JsonObject& json, std::unique_ptr<const Model> model_of_file) : model(std::move(model_of_file)) {
    check_version(json);
    refuse_unknown_settings(json, kKeys);
    padding = read_fixed_padding(json);
    truncation = read_truncation(json);
    if (const auto stage = json.find_object("normalizer")) normalizer = make_normalizer(*stage);
    if (const auto stage = json.find_object("pre_tokenizer")) pre_tokenizer = make_pre_tokenizer(*stage);
    if (const auto stage = json.find_object("post_processor")) post_processor = make_post_processor(*stage);
    if (const auto stage = json.find_object("decoder")) {
      decoder = make_decoder(*stage);
      spelling = read_spelling(*stage);
    }
    added_tokens = AddedTokens(json, model->vocabulary(), normalizer);
  }

  PreTokenizedString pre_tokenize(std::string_view text, const SpecialText& special) const;
  void append_normalized(CharSpan section, const SpecialText& special, PreTokenizedString& out) const;
  bool spells_special(const ModelToken& token, CharSpan word, const SpecialText& special) const;
  void tokenize_word(CharSpan word, const SpecialText& special, std::vector<ModelToken>& out) const;
  std::vector<Token> tokenize(std::string_view text, std::int32_t sequence, const SpecialText& special) const;
  Encoding encode(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& options) const;
  std::size_t truncate_sequences(Sequences& sequences, const EncodeOptions& options) const;
  std::string piece_of(std::int32_t id) const;

  std::unique_ptr<const Model> model;
  Normalizer normalizer;  // these four may be null
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const PostProcessor> post_processor;
  Decoder decoder;
  AddedTokens added_tokens;
  Spelling spelling;
  std::optional<std::size_t> padding, truncation;
  std::string identity;
};

// Normalises a part of the text that holds no raw added token, cuts it at the others, and appends it.
void Tokenizer::Impl::append_normalized(CharSpan section, const SpecialText& special, PreTokenizedString& out) const {
  NormalizedString normalized(section);
  if (normalizer) normalizer(normalized);
  const std::size_t origin = out.chars.size();
  for (const Split& split : added_tokens.split(normalized.chars(), /*normalized=*/true, special)) {
    out.splits.push_back({origin + split.begin, origin + split.end, split.added_token});
  }
  out.chars.insert(out.chars.end(), normalized.chars().begin(), normalized.chars().end());
}

PreTokenizedString Tokenizer::Impl::pre_tokenize(std::string_view text, const SpecialText& special) const {
  const NormalizedString raw(text);
  PreTokenizedString out;
  for (const Split& split : added_tokens.split(raw.chars(), /*normalized=*/false, special)) {
    const CharSpan section = CharSpan(raw.chars()).subspan(split.begin, split.end - split.begin);
    if (!split.added_token) {
      append_normalized(section, special, out);
      continue;
    }
    out.splits.push_back({out.chars.size(), out.chars.size() + section.size(), split.added_token});
    out.chars.insert(out.chars.end(), section.begin(), section.end());
  }
  if (pre_tokenizer) pre_tokenizer(out);
  return out;
}

bool Tokenizer::Impl::spells_special(const ModelToken& token, CharSpan word, const SpecialText& special) const {
  return added_tokens.is_special(token.entry.id) && !token.spelled_as_text && token.end > token.begin + 1 &&
         to_utf8(word.subspan(token.begin, token.end - token.begin)) == token.entry.piece &&
         !special.allows(word[token.begin].begin, word[token.end - 1].end);
}

// A model may find the spelling of a special token in a word, since that is in its vocabulary. Where it must not, the
// word is cut after the first character of each such spelling, and its parts are tokenized on their own in the same
// way. All are cut at once: tokenizing the rest of the word anew after each would take the square of their number.
void Tokenizer::Impl::tokenize_word(CharSpan word, const SpecialText& special, std::vector<ModelToken>& out) const {
  struct Part {
    std::size_t begin, end;
  };
  std::vector<Part> parts = {{0, word.size()}};  // the next one is the last
  while (!parts.empty()) {
    const auto [begin, end] = parts.back();
    parts.pop_back();
    const CharSpan part = word.subspan(begin, end - begin);
    const std::size_t first = out.size(), waiting = parts.size();
    model->tokenize(part, out);
    std::size_t rest = end;  // what is not among the parts ends there
    for (std::size_t i = out.size(); i-- > first;) {
      if (!spells_special(out[i], part, special)) continue;
      parts.push_back({begin + out[i].begin + 1, rest});
      rest = parts.back().begin;
    }
    if (parts.size() > waiting) {
      out.resize(first);
      parts.push_back({begin, rest});
      continue;
    }
    for (std::size_t i = first; i < out.size(); ++i) {
      out[i].begin += begin;
      out[i].end += begin;
    }
  }
}

std::vector<Token> Tokenizer::Impl::tokenize(std::string_view text, std::int32_t sequence,
                                             const SpecialText& special) const {
  const PreTokenizedString pre_tokenized = pre_tokenize(text, special);
  std::vector<Token> tokens;
  std::vector<ModelToken> pieces;
  std::int32_t word = 0;
  for (const Split& split : pre_tokenized.splits) {
    const CharSpan chars = CharSpan(pre_tokenized.chars).subspan(split.begin, split.end - split.begin);
    const auto add = [&](std::int32_t id, std::string piece, std::size_t begin, std::size_t end) {
      tokens.push_back({id, std::move(piece), chars[begin].begin, chars[end - 1].end, sequence, sequence, word, false});
    };
    if (split.added_token) {
      add(*split.added_token, to_utf8(chars), 0, chars.size());
      tokens.back().control = added_tokens.is_special(*split.added_token);
    } else {
      pieces.clear();
      tokenize_word(chars, special, pieces);
      for (const ModelToken& p : pieces) {
        add(p.entry.id,
            p.spelled_as_text ? to_utf8(chars.subspan(p.begin, p.end - p.begin)) : std::string(p.entry.piece), p.begin,
            p.end);
      }
    }
    ++word;
  }
  return tokens;
}

std::size_t Tokenizer::Impl::truncate_sequences(Sequences& sequences, const EncodeOptions& options) const {
  if (options.max_length == 0) return 0;
  const bool adds = options.add_special && post_processor != nullptr;
  const std::size_t added = adds ? post_processor->added(sequences.size() == 2) : 0;
  if (options.max_length < added) {
    throw BadArgument("a length of " + std::to_string(options.max_length) + " has no room for the " +
                      std::to_string(added) + " special tokens; allow at least " + std::to_string(added));
  }
  return truncate(sequences, options.max_length - added, options.cut);
}

std::string Tokenizer::Impl::piece_of(std::int32_t id) const {
  if (const AddedToken* token = added_tokens.find(id)) return token->decoded;
  if (const auto piece = model->vocabulary().piece_of(id)) return std::string(*piece);
  throw BadArgument("token id " + std::to_string(id) + " is not in the tokenizer's vocabulary");
}

Encoding Tokenizer::Impl::encode(std::string_view text, std::optional<std::string_view> pair,
                                 const EncodeOptions& options) const {
  Sequences sequences;
  require_plain_ranges(options.plain, text.size());
  sequences.push_back(tokenize(text, 0, {options.parse_special, options.plain}));
  if (pair) sequences.push_back(tokenize(*pair, 1, {options.parse_special}));
  Encoding encoding;
  encoding.cut = truncate_sequences(sequences, options);
  if (post_processor) post_processor->process(sequences, options.add_special);
  for (std::vector<Token>& part : sequences) {
    if (encoding.tokens.empty()) {
      encoding.tokens = std::move(part);
    } else {
      std::move(part.begin(), part.end(), std::back_inserter(encoding.tokens));
    }
  }
  keep_whole_chars(encoding.tokens, text, pair.value_or(std::string_view()));
  return encoding;
}

Tokenizer Tokenizer::open(const std::filesystem::path& model, const GgufTokenizerOptions& options) {
  if (format::is_gguf(model)) return from_gguf(format::GgufFile::open(model).metadata(), options);
  if (!options.pre.empty()) {
    throw BadArgument(model.string() + " is no GGUF file: its tokenizer.json says how words are found, not --pre");
  }
  const std::filesystem::path file = tokenizer_file(model);
  if (!format::is_present(file)) {
    throw BadFile(model.string() + " has no tokenizer.json; fetch it with the model, or name a model that has one");
  }
  return load(file);
}

Tokenizer Tokenizer::load(const std::filesystem::path& tokenizer_json) {
  return parse(format::read_regular_file(tokenizer_json, format::JsonLimits{}.max_bytes), tokenizer_json.string());
}

Tokenizer Tokenizer::parse(std::string_view json_text, std::string_view name) {
  std::string text(json_text);
  const std::optional<JsonText> vocabulary = take_from_model(text, name, "vocab");
  const std::optional<JsonText> merges = take_from_model(text, name, "merges");
  const nlohmann::json json = format::parse_json(text, name);
  const JsonObject file(json, name);
  Tokenizer tokenizer;
  auto impl = std::make_shared<Impl>(file, read_model(file.require_object("model"), vocabulary, merges));
  impl->identity = hash_of(json_text);
  tokenizer.impl_ = std::move(impl);
  return tokenizer;
}

Tokenizer Tokenizer::from_gguf(const format::GgufMetadata& metadata, const GgufTokenizerOptions& options) {
  GgufTokenizer read = read_gguf_tokenizer(metadata, options);
  Tokenizer tokenizer;
  auto impl = std::make_shared<Impl>(JsonObject(read.file, metadata.name()), std::move(read.model));
  impl->identity = hash_of(metadata, options);
  tokenizer.impl_ = std::move(impl);
  return tokenizer;
}

Encoding Tokenizer::encode(std::string_view text, std::optional<std::string_view> pair,
                           const EncodeOptions& options) const {
  check_text(text);
  if (pair) check_text(*pair);
  try {
    return impl_->encode(text, pair, options);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for the tokens of a text of " + std::to_string(text.size()) + " bytes");
  }
}

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids, bool skip_special) const {
  std::vector<std::string> pieces;
  for (const std::int32_t id : ids) {
    std::string piece = impl_->piece_of(id);
    if (!skip_special || !impl_->added_tokens.is_special(piece)) pieces.push_back(std::move(piece));
  }
  if (impl_->decoder) impl_->decoder(pieces);
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0 && !impl_->decoder) text += ' ';
    text += pieces[i];
  }
  return text;
}

std::size_t Tokenizer::vocabulary_size() const {
  return impl_->model->vocabulary().size() + impl_->added_tokens.beyond_vocabulary();
}

std::optional<std::int32_t> Tokenizer::id_of(std::string_view piece) const {
  if (const AddedToken* token = impl_->added_tokens.find(piece)) return token->id;
  const auto entry = impl_->model->vocabulary().find(piece);
  return entry ? std::optional(entry->id) : std::nullopt;
}

const std::string& Tokenizer::identity() const { return impl_->identity; }

TokenRange Tokenizer::range() const {
  TokenRange range;
  if (const auto last = impl_->model->vocabulary().last()) range = {last->id, std::string(last->piece)};
  if (const AddedToken* token = impl_->added_tokens.last(); token != nullptr && token->id > range.largest_id) {
    range.largest_id = token->id;
    range.largest_piece = token->content;
  }
  if (impl_->post_processor) impl_->post_processor->extend(range);
  return range;
}

std::string_view Tokenizer::kind() const { return impl_->model->kind(); }
const Spelling& Tokenizer::spelling() const { return impl_->spelling; }
std::string Tokenizer::piece_of(std::int32_t id) const { return impl_->piece_of(id); }

bool Tokenizer::is_special(std::int32_t id) const {
  const AddedToken* token = impl_->added_tokens.find(id);
  return token != nullptr && token->special;
}

std::optional<std::size_t> Tokenizer::file_padding() const { return impl_->padding; }
std::optional<std::size_t> Tokenizer::file_truncation() const { return impl_->truncation; }

}  // namespace sightline::tokenizer
