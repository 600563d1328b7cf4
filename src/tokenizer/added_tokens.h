#ifndef SIGHTLINE_TOKENIZER_ADDED_TOKENS_H_
#define SIGHTLINE_TOKENIZER_ADDED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/tokenizer/normalizer.h"
#include "src/tokenizer/pre_tokenizer.h"
#include "src/tokenizer/special_text.h"
#include "src/tokenizer/vocabulary.h"
#include "src/tokenizer/word_list.h"

namespace sightline::tokenizer {

/// A token that is found in the text as it stands, before the model sees it.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;  // only where no word character stands beside it
  bool lstrip = false;       // takes in the white space before it
  bool rstrip = false;       // and after it
  bool normalized = false;   // matches in its normalised form, in normalised text; else in the text as given
  bool special = false;      // left out of decoded text when special tokens are skipped
  std::string decoded;       // what decoding writes: the normalised form, if it matches in that
};

/// "added_tokens" of the file.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// `normalizer` may be null. Throws BadFile.
  AddedTokens(const JsonObject& json, const Vocabulary& vocabulary, const Normalizer& normalizer);

  const AddedToken* find(std::int32_t id) const;
  const AddedToken* find(std::string_view content) const;
  const AddedToken* last() const;  // of the largest id; null: there are none
  /// How many of them the model's vocabulary lacks.
  std::size_t beyond_vocabulary() const { return beyond_vocabulary_; }
  /// Whether decoding with special tokens skipped leaves out this spelling.
  bool is_special(std::string_view spelling) const;

  bool is_special(std::int32_t id) const {
    return lowest_special_ <= id && id <= highest_special_ && special_ids_.contains(id);
  }

  /// Cuts a text at the tokens in it, leftmost and longest first: those that match in normalised text, or the others;
  /// special ones where they may be.
  std::vector<Split> split(CharSpan text, bool normalized, const SpecialText& special) const;

 private:
  void add(const JsonObject& json, const Vocabulary& vocabulary, const Normalizer& normalizer);
  void list_words(const JsonObject& json);
  void check_id(const JsonObject& json, const AddedToken& token, const Vocabulary& vocabulary);

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t> by_content_;
  WordList words_[2];  // of raw, of normalised text; values: indices of tokens_
  std::unordered_set<std::int32_t> special_ids_;
  std::int32_t lowest_special_ = INT32_MAX, highest_special_ = -1;  // most ids are not between
  std::size_t beyond_vocabulary_ = 0;
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_ADDED_TOKENS_H_
