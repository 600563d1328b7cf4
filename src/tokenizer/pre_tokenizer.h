#ifndef SIGHTLINE_TOKENIZER_PRE_TOKENIZER_H_
#define SIGHTLINE_TOKENIZER_PRE_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "src/tokenizer/normalized_string.h"
#include "src/tokenizer/stage.h"

namespace sightline::tokenizer {

/// A part of the text: characters [begin, end).
struct Split {
  std::size_t begin, end;
  std::optional<std::int32_t> added_token;  // an added token that stands here; the stages after leave it alone
};

/// Normalised text on its way to the model. No split is empty.
struct PreTokenizedString {
  std::vector<Char> chars;
  std::vector<Split> splits;
};

using PreTokenizer = std::function<void(PreTokenizedString&)>;

/// "pre_tokenizer": BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, Split,
/// Whitespace, WhitespaceSplit. Throws BadFile, UnsupportedModel.
PreTokenizer make_pre_tokenizer(const JsonObject& json);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_PRE_TOKENIZER_H_
