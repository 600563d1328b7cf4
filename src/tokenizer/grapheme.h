#ifndef SIGHTLINE_TOKENIZER_GRAPHEME_H_
#define SIGHTLINE_TOKENIZER_GRAPHEME_H_

#include <cstddef>

#include "src/tokenizer/normalized_string.h"

namespace sightline::tokenizer {

/// The end of the extended grapheme cluster (Unicode Standard Annex 29, version 17: the reference's) that begins at
/// character `at` < text.size().
std::size_t grapheme_end(CharSpan text, std::size_t at);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_GRAPHEME_H_
