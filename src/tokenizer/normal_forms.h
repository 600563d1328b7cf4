#ifndef SIGHTLINE_TOKENIZER_NORMAL_FORMS_H_
#define SIGHTLINE_TOKENIZER_NORMAL_FORMS_H_

#include "src/tokenizer/normalized_string.h"

namespace sightline::tokenizer {

enum class NormalForm { nfd, nfc, nfkd, nfkc };

/// Unicode Standard Annex 15, with a place in the original text for every character: what ICU's own functions on
/// strings do not tell.
void apply_normal_form(NormalizedString& text, NormalForm form);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_NORMAL_FORMS_H_
