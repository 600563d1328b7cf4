#ifndef SIGHTLINE_TOKENIZER_METASPACE_H_
#define SIGHTLINE_TOKENIZER_METASPACE_H_

#include "src/tokenizer/decoder.h"
#include "src/tokenizer/pre_tokenizer.h"

/// "Metaspace": a visible mark ("▁") in place of spaces, as SentencePiece has it.
namespace sightline::tokenizer {

/// Marks spaces, puts a mark before the text as the scheme says, and cuts before every mark. Throws BadFile,
/// UnsupportedModel.
PreTokenizer make_metaspace(const JsonObject& json);

/// Turns marks back into spaces, and drops those of the first piece where the scheme had put one before the text.
Decoder make_metaspace_decoder(const JsonObject& json);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_METASPACE_H_
