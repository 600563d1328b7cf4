#ifndef SIGHTLINE_TOKENIZER_VOCABULARY_TEXT_H_
#define SIGHTLINE_TOKENIZER_VOCABULARY_TEXT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/tokenizer/json_text.h"

namespace sightline::tokenizer {

/// Reads the vocabulary of a model entry by entry: a JSON object of piece: id, or an array of [piece, score], whose ids
/// count from 0. Throws BadFile, saying at which byte, for what is not an object of strings and whole numbers from 0 to
/// 2^31 - 1, or an array of pairs of a string and a number.
class VocabularyReader {
 public:
  explicit VocabularyReader(const JsonText& text);

  struct Entry {
    std::string_view piece;  // until the next entry is read
    std::int32_t id;
    double score = 0;  // where there are scores
  };
  std::optional<Entry> next();
  bool has_scores() const { return has_scores_; }

 private:
  void read_pair(Entry& entry);
  std::int32_t read_id();
  double read_score();

  JsonCursor cursor_;
  bool has_scores_;
  std::int32_t count_ = 0;
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_VOCABULARY_TEXT_H_
