#include "src/tokenizer/text_stream.h"

#include <utility>

#include "sightline/error.h"
#include "src/tokenizer/byte_piece.h"
#include "src/tokenizer/display.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// How many bytes a character has that begins so; 0: none does.
std::size_t length_from(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

// Unicode's table 3-7: overlong forms, surrogates and what is above U+10FFFF show in the second byte.
bool second_fits(unsigned char lead, unsigned char second) {
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return second >= low && second <= high;
}

// Whether more bytes can make a character of these, all but the last of which can.
bool begins_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]), last = static_cast<unsigned char>(bytes.back());
  if (bytes.size() == 1) return length_from(lead) > 1;
  return bytes.size() < length_from(lead) &&
         (bytes.size() == 2 ? second_fits(lead, last) : is_continuation(bytes.back()));
}

}  // namespace

std::string Utf8Stream::add(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    held_ += byte;
    if (decode_char(held_, 0).length == held_.size()) {
      text += held_;
      held_.clear();
    } else if (!begins_character(held_)) {
      text += kReplacement;
      const bool alone = held_.size() == 1;
      held_.clear();
      if (!alone) text += add({&byte, 1});  // it ended what came before, and may begin a character itself
    }
  }
  return text;
}

std::string Utf8Stream::finish() {
  if (held_.empty()) return {};
  held_.clear();
  return std::string(kReplacement);
}

TextStream::TextStream(Tokenizer tokenizer, std::span<const std::int32_t> before) : tokenizer_(std::move(tokenizer)) {
  for (const std::int32_t id : before) {
    if (!tokenizer_.is_special(id)) previous_ = id;
  }
}

std::string TextStream::add(std::int32_t id) {
  std::string piece;
  try {
    piece = tokenizer_.piece_of(id);
  } catch (const BadArgument&) {
    return {};
  }
  if (tokenizer_.is_special(id)) return {};
  const std::string bytes = bytes_of_next(id, piece);
  previous_ = id;
  return characters_.add(bytes);
}

// What a decoder gives for a token depends on the one before it, if at all: whether there is one (a space before the
// first is dropped), and what joins the two.
std::string TextStream::bytes_of_next(std::int32_t id, std::string_view piece) const {
  const Spelling& spelling = tokenizer_.spelling();
  if (spelling.byte_level) return bytes_of(piece, spelling);
  if (const auto byte = byte_of_piece(piece); byte && spelling.byte_pieces) return {static_cast<char>(*byte)};
  if (!previous_) return tokenizer_.decode({id}, /*skip_special=*/false);
  const std::string before = tokenizer_.decode({*previous_}, false), both = tokenizer_.decode({*previous_, id}, false);
  return both.starts_with(before) ? both.substr(before.size()) : tokenizer_.decode({id}, false);
}

}  // namespace sightline::tokenizer
