#include "src/tokenizer/vocabulary_text.h"

#include <charconv>
#include <cmath>

namespace sightline::tokenizer {

VocabularyReader::VocabularyReader(const JsonText& text)
    : cursor_(text, "model.vocab"), has_scores_(text.value.starts_with('[')) {
  cursor_.expect(has_scores_ ? '[' : '{');
}

std::optional<VocabularyReader::Entry> VocabularyReader::next() {
  if (cursor_.peek() == (has_scores_ ? ']' : '}')) return std::nullopt;
  if (count_++ > 0) cursor_.expect(',');
  Entry entry;
  if (has_scores_) {
    read_pair(entry);
    return entry;
  }
  entry.piece = cursor_.read_string();
  cursor_.expect(':');
  entry.id = read_id();
  return entry;
}

void VocabularyReader::read_pair(Entry& entry) {
  cursor_.expect('[');
  entry.piece = cursor_.read_string();
  entry.id = count_ - 1;
  cursor_.expect(',');
  entry.score = read_score();
  cursor_.expect(']');
}

std::int32_t VocabularyReader::read_id() {
  cursor_.peek();
  const std::string_view rest = cursor_.rest();
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), id);
  const bool digits = error == std::errc() && rest[0] != '-' && (rest[0] != '0' || end == rest.data() + 1);
  const bool ends = digits && (*end == ',' || *end == '}' || kBlanks.find(*end) != kBlanks.npos);
  if (!ends) cursor_.fail("an id must be a whole number from 0 to 2147483647");
  cursor_.skip(static_cast<std::size_t>(end - rest.data()));
  return id;
}

double VocabularyReader::read_score() {
  const char first = cursor_.peek();
  const std::string_view rest = cursor_.rest();
  double score = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), score);
  const bool number = error == std::errc() && (first == '-' || (first >= '0' && first <= '9')) && std::isfinite(score);
  if (!number || (*end != ']' && kBlanks.find(*end) == kBlanks.npos)) cursor_.fail("a score must be a number");
  cursor_.skip(static_cast<std::size_t>(end - rest.data()));
  return score;
}

}  // namespace sightline::tokenizer
