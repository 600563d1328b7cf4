#ifndef SIGHTLINE_TOKENIZER_DECODER_H_
#define SIGHTLINE_TOKENIZER_DECODER_H_

#include <functional>
#include <string>
#include <vector>

#include "src/tokenizer/stage.h"

namespace sightline::tokenizer {

/// Turns pieces into the texts that, one after the other, make up the decoded text.
using Decoder = std::function<void(std::vector<std::string>&)>;

/// "decoder": BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece. Throws
/// BadFile, UnsupportedModel.
Decoder make_decoder(const JsonObject& json);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_DECODER_H_
