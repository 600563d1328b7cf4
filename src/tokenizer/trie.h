#ifndef SIGHTLINE_TOKENIZER_TRIE_H_
#define SIGHTLINE_TOKENIZER_TRIE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/tokenizer/normalized_string.h"

namespace sightline::tokenizer {

/// Words, and the longest of them that starts at a place in a text.
class Trie {
 public:
  struct Match {
    std::size_t length;  // characters
    std::size_t value;
  };

  /// `word` must not be empty. False where it is in the trie already.
  bool add(std::u32string_view word, std::size_t value);
  bool empty() const { return values_.size() == 1; }
  std::optional<Match> longest_match(CharSpan text, std::size_t at) const;

 private:
  static std::uint64_t edge(std::uint32_t node, char32_t c) { return std::uint64_t{node} << 32 | c; }

  std::unordered_map<std::uint64_t, std::uint32_t> edges_;
  std::vector<std::optional<std::size_t>> values_ = {std::nullopt};  // of each node; node 0 is the root
  std::array<bool, 128> ascii_starts_{};  // most texts are ASCII and most places start no word: no look-up for them
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_TRIE_H_
