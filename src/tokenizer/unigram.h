#ifndef SIGHTLINE_TOKENIZER_UNIGRAM_H_
#define SIGHTLINE_TOKENIZER_UNIGRAM_H_

#include <memory>

#include "src/tokenizer/model.h"

namespace sightline::tokenizer {

/// Unigram (Kudo 2018): of all ways to cut the text into pieces the one whose scores add up to most, found by Viterbi's
/// algorithm in time proportional to the text's length times that of the longest piece. Throws BadFile.
std::unique_ptr<const Model> make_unigram(const JsonObject& json, Vocabulary vocabulary);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_UNIGRAM_H_
