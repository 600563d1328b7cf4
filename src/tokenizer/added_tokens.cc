#include "src/tokenizer/added_tokens.h"

#include <algorithm>
#include <array>

#include "sightline/error.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr std::array<std::string_view, 7> kSettings = {"id",     "content",    "single_word", "lstrip",
                                                       "rstrip", "normalized", "special"};

// Bytes. A text may nearly spell a token at each of its places, and is read that far at each.
constexpr std::size_t kLongestToken = 1024;

bool is_single_word(CharSpan text, std::size_t begin, std::size_t end) {
  const bool word_before = begin > 0 && is_word_char(text[begin - 1].code);
  const bool word_after = end < text.size() && is_word_char(text[end].code);
  return !word_before && !word_after;
}

// Takes in white space on the sides that the token strips; on the left down to `limit`, where the last token ended.
Split stripped(CharSpan text, Split split, const AddedToken& token, std::size_t limit) {
  const auto is_space = [&](std::size_t i) { return is_whitespace(text[i].code); };
  if (token.lstrip) {
    split.begin = std::max(split.begin, limit);
    while (split.begin > limit && is_space(split.begin - 1)) --split.begin;
  }
  if (token.rstrip) {
    while (split.end < text.size() && is_space(split.end)) ++split.end;
  }
  return split;
}

[[noreturn]] void refuse_repeated(const JsonObject& json, const std::string& content) {
  throw BadFile(json.where("content") + " is " + format::quote(content) + ", as another added token's");
}

std::string normal_form_of(const AddedToken& token, const Normalizer& normalizer) {
  if (!token.normalized || !normalizer) return token.content;
  NormalizedString text(token.content);
  normalizer(text);
  return to_utf8(text.chars());
}

}  // namespace

AddedTokens::AddedTokens(const JsonObject& json, const Vocabulary& vocabulary, const Normalizer& normalizer) {
  if (!json.has("added_tokens")) return;
  for (const JsonObject& token : require_objects(json, "added_tokens")) add(token, vocabulary, normalizer);
  list_words(json);
}

// Raises BadFile where two of them match the same text.
void AddedTokens::list_words(const JsonObject& json) {
  std::vector<WordList::Word> words[2];
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    words[tokens_[i].normalized ? 1 : 0].push_back({to_chars(tokens_[i].decoded), i});
  }
  for (int normalized = 0; normalized < 2; ++normalized) {
    words_[normalized] = WordList(std::move(words[normalized]));
    if (const auto repeated = words_[normalized].repeated()) {
      const std::size_t second = repeated->second;
      refuse_repeated(require_objects(json, "added_tokens")[second], tokens_[second].content);
    }
  }
}

void AddedTokens::add(const JsonObject& json, const Vocabulary& vocabulary, const Normalizer& normalizer) {
  refuse_unknown_settings(json, kSettings);
  AddedToken token;
  token.content = json.require_string("content");
  token.id = static_cast<std::int32_t>(json.require_int("id", 0, INT32_MAX));
  token.single_word = json.require_bool("single_word");
  token.lstrip = json.require_bool("lstrip");
  token.rstrip = json.require_bool("rstrip");
  token.normalized = json.require_bool("normalized");
  token.special = json.require_bool("special");
  token.decoded = normal_form_of(token, normalizer);
  if (token.content.empty()) throw BadFile(json.where("content") + " must not be empty");
  check_id(json, token, vocabulary);

  if (token.decoded.empty()) throw BadFile(json.where("content") + " is empty once it is normalised");
  if (token.decoded.size() > kLongestToken) {
    throw UnsupportedModel(json.where("content") + " has " + std::to_string(token.decoded.size()) +
                           " bytes once it is normalised; an added token may have " + std::to_string(kLongestToken));
  }
  if (!by_content_.try_emplace(token.content, tokens_.size()).second) refuse_repeated(json, token.content);
  if (token.special) {
    special_ids_.insert(token.id);
    lowest_special_ = std::min(lowest_special_, token.id);
    highest_special_ = std::max(highest_special_, token.id);
  }
  by_id_.emplace(token.id, tokens_.size());
  tokens_.push_back(std::move(token));
}

// The reference gives ids of its own: the vocabulary's, or else the next free one, in the order of the file. A file
// that says otherwise was not written by it, and which id its model was trained with cannot be known.
void AddedTokens::check_id(const JsonObject& json, const AddedToken& token, const Vocabulary& vocabulary) {
  const auto known = vocabulary.find(token.content);
  const std::size_t expected = known ? static_cast<std::size_t>(known->id) : vocabulary.size() + beyond_vocabulary_;
  if (static_cast<std::size_t>(token.id) != expected) {
    throw BadFile(json.where("id") + " of " + format::quote(token.content) + " is " + std::to_string(token.id) +
                  ", but " + (known ? "the vocabulary says " : "the next free id is ") + std::to_string(expected));
  }
  if (known) return;
  if (const auto other = vocabulary.piece_of(token.id)) {
    throw BadFile(json.where("id") + " of " + format::quote(token.content) + " is " + std::to_string(token.id) +
                  ", which is the vocabulary's " + format::quote(*other));
  }
  ++beyond_vocabulary_;
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::last() const {
  const auto found = std::ranges::max_element(tokens_, {}, &AddedToken::id);
  return found == tokens_.end() ? nullptr : &*found;
}

bool AddedTokens::is_special(std::string_view spelling) const {
  const AddedToken* token = find(spelling);
  return token != nullptr && token->special;
}

std::vector<Split> AddedTokens::split(CharSpan text, bool normalized, const SpecialText& special) const {
  std::vector<Split> splits;
  const WordList& words = words_[normalized ? 1 : 0];
  std::size_t done = 0, at = 0;  // characters before `done` are in `splits`
  const auto accepts = [&](const WordList::Match& match) {
    return !tokens_[match.value].special || special.allows(text[at].begin, text[at + match.length - 1].end);
  };
  while (!words.empty() && at < text.size()) {
    const auto match = words.longest_match(text, at, accepts);
    if (!match) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[match->value];
    Split split{at, at + match->length, token.id};
    at = split.end;
    if (token.single_word && !is_single_word(text, split.begin, split.end)) continue;
    split = stripped(text, split, token, done);
    if (split.begin >= split.end) continue;  // the token before took in all of it
    if (done < split.begin) splits.push_back({done, split.begin, {}});
    splits.push_back(split);
    done = split.end;
  }
  if (done < text.size()) splits.push_back({done, text.size(), {}});
  return splits;
}

}  // namespace sightline::tokenizer
