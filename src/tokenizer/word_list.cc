#include "src/tokenizer/word_list.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sightline::tokenizer {

WordList::WordList(std::vector<Word> words) : words_(std::move(words)) {
  std::ranges::sort(words_, {}, [](const Word& word) { return std::tie(word.text, word.value); });
  for (const Word& word : words_) {
    if (word.text.front() < ascii_starts_.size()) ascii_starts_[word.text.front()] = true;
  }
}

std::optional<std::pair<std::size_t, std::size_t>> WordList::repeated() const {
  const auto found = std::ranges::adjacent_find(words_, {}, &Word::text);
  if (found == words_.end()) return std::nullopt;
  return std::pair(found->value, std::next(found)->value);
}

std::optional<WordList::Match> WordList::longest_match(CharSpan text, std::size_t at,
                                                       const std::function<bool(const Match&)>& accepts) const {
  if (text[at].code < ascii_starts_.size() && !ascii_starts_[text[at].code]) return std::nullopt;
  std::optional<Match> longest;
  auto first = words_.begin(), last = words_.end();  // those that begin with the `length` characters at the place
  for (std::size_t length = 0; at + length < text.size(); ++length) {
    const char32_t c = text[at + length].code;
    const auto is_before = [&](const Word& word) { return word.text.size() == length || word.text[length] < c; };
    const auto is_not_after = [&](const Word& word) { return word.text[length] <= c; };
    first = std::partition_point(first, last, is_before);
    last = std::partition_point(first, last, is_not_after);
    if (first == last) break;
    const Match match{length + 1, first->value};
    if (first->text.size() == match.length && accepts(match)) longest = match;
  }
  return longest;
}

}  // namespace sightline::tokenizer
