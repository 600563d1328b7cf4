#ifndef SIGHTLINE_TOKENIZER_MODEL_H_
#define SIGHTLINE_TOKENIZER_MODEL_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "src/tokenizer/merges.h"
#include "src/tokenizer/normalized_string.h"
#include "src/tokenizer/stage.h"
#include "src/tokenizer/vocabulary.h"

namespace sightline::tokenizer {

/// A token that a model found: an entry of its vocabulary, and the characters [begin, end) of the pre-token.
struct ModelToken {
  VocabularyEntry entry;
  std::size_t begin, end;
  bool spelled_as_text = false;  // an unknown token whose piece is what stands there
};

/// Cuts pre-tokens into pieces of its vocabulary.
class Model {
 public:
  virtual ~Model() = default;
  virtual std::string_view kind() const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  /// Appends the tokens of one pre-token, which is not empty.
  virtual void tokenize(CharSpan pre_token, std::vector<ModelToken>& out) const = 0;
};

/// "model": BPE, Unigram, WordPiece; its "vocab" and "merges" were read before. Throws BadFile, UnsupportedModel.
std::unique_ptr<const Model> make_model(const JsonObject& json, Vocabulary vocabulary, Merges merges);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_MODEL_H_
