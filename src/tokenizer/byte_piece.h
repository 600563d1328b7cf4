#ifndef SIGHTLINE_TOKENIZER_BYTE_PIECE_H_
#define SIGHTLINE_TOKENIZER_BYTE_PIECE_H_

#include <optional>
#include <string>
#include <string_view>

/// SentencePiece's pieces that stand for a byte: "<0xF0>".
namespace sightline::tokenizer {

std::string piece_of_byte(unsigned char byte);
/// Digits may be small letters.
std::optional<unsigned char> byte_of_piece(std::string_view piece);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_BYTE_PIECE_H_
