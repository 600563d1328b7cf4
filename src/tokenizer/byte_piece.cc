#include "src/tokenizer/byte_piece.h"

#include <fmt/core.h>

#include <charconv>

namespace sightline::tokenizer {

std::string piece_of_byte(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<unsigned char> byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return std::nullopt;
  unsigned char byte = 0;
  const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  return error == std::errc() && end == piece.data() + 5 ? std::optional(byte) : std::nullopt;
}

}  // namespace sightline::tokenizer
