#include "src/tokenizer/trie.h"

namespace sightline::tokenizer {

bool Trie::add(std::u32string_view word, std::size_t value) {
  if (word.front() < ascii_starts_.size()) ascii_starts_[word.front()] = true;
  std::uint32_t node = 0;
  for (const char32_t c : word) {
    const auto [found, added] = edges_.try_emplace(edge(node, c), static_cast<std::uint32_t>(values_.size()));
    if (added) values_.emplace_back();
    node = found->second;
  }
  if (values_[node]) return false;
  values_[node] = value;
  return true;
}

std::optional<Trie::Match> Trie::longest_match(CharSpan text, std::size_t at) const {
  if (text[at].code < ascii_starts_.size() && !ascii_starts_[text[at].code]) return std::nullopt;
  std::optional<Match> longest;
  std::uint32_t node = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const auto found = edges_.find(edge(node, text[i].code));
    if (found == edges_.end()) break;
    node = found->second;
    if (values_[node]) longest = Match{i + 1 - at, *values_[node]};
  }
  return longest;
}

}  // namespace sightline::tokenizer
