#ifndef SIGHTLINE_TOKENIZER_VOCABULARY_TEXT_H_
#define SIGHTLINE_TOKENIZER_VOCABULARY_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sightline::tokenizer {

/// The text of a JSON object of piece: id, or of an array of [piece, score] (ids count from 0), and where it stands.
struct VocabularyText {
  std::string value;         // "{...}" or "[...]"
  std::string file;          // its name, for messages
  std::size_t position = 0;  // byte of the file at which the value begins
};

/// Takes the "vocab" of "model" out of the text of a tokenizer.json, and leaves one of blanks in its place: what is
/// left is a small JSON text in which positions are unchanged. Parsed with the rest, a vocabulary of 30,000 pieces
/// would cost five times as much: a tree node and a string for each. Nothing where the text has no such object or
/// array, or is not JSON.
std::optional<VocabularyText> take_vocabulary(std::string& json, std::string_view file);

/// Reads a vocabulary entry by entry. Throws BadFile, saying at which byte, for what is not an object of strings and
/// whole numbers from 0 to 2^31 - 1, or an array of pairs of a string and a number.
class VocabularyReader {
 public:
  explicit VocabularyReader(const VocabularyText& text);

  struct Entry {
    std::string_view piece;  // until the next entry is read
    std::int32_t id;
    double score = 0;  // where there are scores
  };
  std::optional<Entry> next();
  bool has_scores() const { return has_scores_; }

 private:
  void read_pair(Entry& entry);
  std::string_view read_piece();
  std::int32_t read_id();
  double read_score();
  char skip_blanks();
  void expect(char c);
  [[noreturn]] void fail(std::size_t at, std::string_view what) const;

  const VocabularyText& text_;
  bool has_scores_;
  std::size_t at_ = 0;  // byte of the value
  std::int32_t count_ = 0;
  std::string unescaped_;
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_VOCABULARY_TEXT_H_
