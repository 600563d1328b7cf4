#ifndef SIGHTLINE_TOKENIZER_NORMALIZER_H_
#define SIGHTLINE_TOKENIZER_NORMALIZER_H_

#include <functional>

#include "src/tokenizer/normalized_string.h"
#include "src/tokenizer/stage.h"

namespace sightline::tokenizer {

using Normalizer = std::function<void(NormalizedString&)>;

/// "normalizer": Sequence, BertNormalizer, NFC, NFD, NFKC, NFKD, Nmt, Lowercase, StripAccents, Strip, Precompiled,
/// Prepend, Replace. Throws BadFile, UnsupportedModel.
Normalizer make_normalizer(const JsonObject& json);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_NORMALIZER_H_
