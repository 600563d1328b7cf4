#ifndef SIGHTLINE_ENGINE_WORDS_H_
#define SIGHTLINE_ENGINE_WORDS_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/engine/axis.h"
#include "src/engine/look.h"
#include "src/engine/text_breaks.h"

namespace sightline::engine {

/// The words of a UTF-8 text as a reader counts them, in order, without overlap:
///   - a run of letters, digits and marks; inside it an apostrophe or hyphen between two of them ("didn't",
///   "well-known"), a full stop or
///     comma between two digits ("3.14"), and invisible format characters (soft hyphen, zero-width joiner);
///   - an ideograph or kana, each on its own;
///   - any other visible character (grapheme cluster: an emoji with its modifiers is one), each on its own.
/// White space, control and lone format characters belong to none. There is no dictionary: Thai between spaces is one
/// word.
std::vector<TextSpan> split_words(std::string_view text);

/// Whether `text` is white space and nothing else; not the empty text.
bool is_white_space(std::string_view text);

/// Items that are tokens of white space alone ("▁", indentation, a line's end): rows and columns of a map like others,
/// yet no words to a reader.
std::size_t count_white_space(const Axis& axis);

/// Words made of whole tokens. A token belongs to the word that it touches; where it touches several they become one.
/// Special tokens, and tokens that touch no word, are words of their own. `cut`: the text goes on after the last token,
/// so the last word ends with it.
Axis words_of_tokens(std::string_view text, std::span<const LookToken> tokens, bool cut);

/// The tokens themselves.
Axis items_of_tokens(std::span<const LookToken> tokens);

/// ":2" of the second of several items with one label, as find_item() takes it; nothing where the label alone says
/// which item it is.
std::string occurrence_suffix(const Axis& axis, std::size_t index);

/// What stands in the text, is not white space, and no token covers. Where the text was cut, only up to the last token.
std::vector<DroppedText> dropped_text(std::string_view text, std::span<const LookToken> tokens, bool cut);

/// What must be said with a result of a text that was not read whole: how many tokens were cut off its end, and what
/// the tokenizer dropped. Lines; none where all was read.
std::vector<std::string> reading_notes(std::string_view text, std::int64_t cut_tokens,
                                       std::span<const DroppedText> dropped);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_WORDS_H_
