#ifndef SIGHTLINE_TOKENIZER_WORD_LIST_H_
#define SIGHTLINE_TOKENIZER_WORD_LIST_H_

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/tokenizer/normalized_string.h"

namespace sightline::tokenizer {

/// Words, and the longest of them that starts at a place in a text. They stand in their order, and every character of
/// the text narrows the stretch of those that begin like it; the nodes of a trie would take many times their memory.
class WordList {
 public:
  struct Word {
    std::u32string text;  // not empty
    std::size_t value;
  };
  struct Match {
    std::size_t length;  // characters
    std::size_t value;
  };

  WordList() = default;
  explicit WordList(std::vector<Word> words);

  bool empty() const { return words_.empty(); }
  /// Two values of the same text, ascending, if there are such.
  std::optional<std::pair<std::size_t, std::size_t>> repeated() const;
  /// Of the matches that are accepted.
  std::optional<Match> longest_match(CharSpan text, std::size_t at,
                                     const std::function<bool(const Match&)>& accepts) const;

 private:
  std::vector<Word> words_;               // by their text, then by value
  std::array<bool, 128> ascii_starts_{};  // most texts are ASCII and most places start no word: no look-up for them
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_WORD_LIST_H_
