#ifndef SIGHTLINE_TOKENIZER_BPE_H_
#define SIGHTLINE_TOKENIZER_BPE_H_

#include <memory>

#include "src/tokenizer/merges.h"
#include "src/tokenizer/model.h"

namespace sightline::tokenizer {

/// Byte-pair encoding (Gage 1994; Sennrich et al. 2016): the characters of a word, of which the pair with the lowest
/// rank is merged, the leftmost of equal ones, until no pair is left that merges; n log n for a word of n characters.
/// Throws BadFile, UnsupportedModel.
std::unique_ptr<const Model> make_bpe(const JsonObject& json, Vocabulary vocabulary, Merges merges);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_BPE_H_
