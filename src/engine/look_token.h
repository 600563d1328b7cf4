#ifndef SIGHTLINE_ENGINE_LOOK_TOKEN_H_
#define SIGHTLINE_ENGINE_LOOK_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace sightline::engine {

/// One token as the model read it.
struct LookToken {
  std::int32_t id = 0;
  std::string piece;                         // as the vocabulary spells it
  std::size_t byte_begin = 0, byte_end = 0;  // in the UTF-8 text; empty for tokens that the tokenizer added
  std::size_t char_begin = 0, char_end = 0;  // the same in code points
  std::int64_t word = 0;                     // index into words()
  bool special = false;                      // added by the tokenizer, or a control token that stands in the text
  // What it reads as, in UTF-8: its text; the piece of special tokens and where pieces are readable as they are
  // (WordPiece); bytes that are only a part of a character as "\xf0".
  std::string label;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_LOOK_TOKEN_H_
