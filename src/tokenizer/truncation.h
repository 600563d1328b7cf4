#ifndef SIGHTLINE_TOKENIZER_TRUNCATION_H_
#define SIGHTLINE_TOKENIZER_TRUNCATION_H_

#include <cstddef>

#include "src/tokenizer/post_processor.h"

namespace sightline::tokenizer {

/// Cuts the sequences to `limit` tokens in all, the longest first, on the given side. Returns how many tokens went.
std::size_t truncate(Sequences& sequences, std::size_t limit, EncodeOptions::Side side);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_TRUNCATION_H_
