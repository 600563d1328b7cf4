#ifndef SIGHTLINE_TOKENIZER_WORDPIECE_H_
#define SIGHTLINE_TOKENIZER_WORDPIECE_H_

#include <memory>

#include "src/tokenizer/model.h"

namespace sightline::tokenizer {

/// WordPiece (Schuster & Nakajima 2012; Devlin et al. 2018): from the left, the longest piece that the vocabulary has.
/// Throws BadFile.
std::unique_ptr<const Model> make_wordpiece(const JsonObject& json, Vocabulary vocabulary);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_WORDPIECE_H_
