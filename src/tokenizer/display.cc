#include "src/tokenizer/display.h"

#include <algorithm>
#include <optional>

#include "src/tokenizer/byte_level.h"
#include "src/tokenizer/byte_piece.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

void read_replace(const JsonObject& decoder, Spelling& spelling) {
  const std::optional<JsonObject> pattern = decoder.find_object("pattern");
  const std::string* content = decoder.find_string("content");
  const std::string* replaced = pattern ? pattern->find_string("String") : nullptr;
  if (replaced != nullptr && content != nullptr && *content == " ") spelling.space = *replaced;
}

void read_decoder(const JsonObject& decoder, Spelling& spelling) {
  const std::string& type = decoder.require_string("type");
  if (type == "Sequence") {
    for (const JsonObject& part : require_objects(decoder, "decoders")) read_decoder(part, spelling);
  }
  if (type == "ByteLevel") spelling.byte_level = true;
  if (type == "ByteFallback") spelling.byte_pieces = true;
  if (type == "Metaspace") spelling.space = decoder.require_string("replacement");
  if (type == "WordPiece") spelling.continuing = decoder.require_string("prefix");
  if (type == "Replace") read_replace(decoder, spelling);
}

}  // namespace

Spelling read_spelling(const JsonObject& decoder) {
  Spelling spelling;
  read_decoder(decoder, spelling);
  return spelling;
}

std::string bytes_of(std::string_view piece, const Spelling& spelling) {
  std::string bytes;
  if (spelling.byte_level) return append_bytes(piece, bytes) ? bytes : std::string(piece);
  if (const auto byte = byte_of_piece(piece); byte && spelling.byte_pieces) return {static_cast<char>(*byte)};
  if (!spelling.continuing.empty() && piece.size() > spelling.continuing.size() &&
      piece.starts_with(spelling.continuing)) {
    piece.remove_prefix(spelling.continuing.size());
  }
  if (spelling.space.empty()) return std::string(piece);
  for (std::size_t at = 0; at < piece.size();) {
    const bool space = piece.substr(at).starts_with(spelling.space);
    bytes += space ? ' ' : piece[at];
    at += space ? spelling.space.size() : 1;
  }
  return bytes;
}

TokenText text_of(const Token& token, std::string_view source, const Spelling& spelling) {
  if (token.sequence < 0) return {token.piece};
  const std::string_view origin = source.substr(token.begin, token.end - token.begin);
  if (origin == token.piece) return {token.piece};  // an added token, or a piece that only looks like a spelling
  std::string bytes = bytes_of(token.piece, spelling);
  if (!is_utf8(bytes)) return {std::move(bytes), /*whole=*/false};
  const auto has_space = [](std::string_view text) {
    const std::u32string chars = to_chars(text);
    return std::any_of(chars.begin(), chars.end(), is_whitespace);
  };
  // A space that was put before the text stands for its first character, but does not read as that.
  if (bytes == " " && !has_space(origin)) return {std::move(bytes)};
  const bool continues = !spelling.continuing.empty() && bytes.size() < token.piece.size();
  return {origin.empty() ? std::move(bytes) : std::string(origin), true, continues};
}

}  // namespace sightline::tokenizer
