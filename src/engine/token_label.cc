#include "src/engine/token_label.h"

#include <fmt/format.h>

#include <utility>

#include "src/tokenizer/display.h"

namespace sightline::engine {

std::string token_label(const tokenizer::Token& token, std::string_view text, const tokenizer::Spelling& spelling) {
  if (token.special || token.control || !spelling.continuing.empty()) return token.piece;
  const tokenizer::TokenText shown = tokenizer::text_of(token, text, spelling);
  if (shown.whole) return shown.text;
  std::string bytes;
  for (const char byte : shown.text) bytes += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return bytes;
}

std::string token_label(const tokenizer::Tokenizer& tokenizer, std::int32_t id) {
  if (std::cmp_greater_equal(id, tokenizer.vocabulary_size())) return fmt::format("#{}", id);
  tokenizer::Token token;
  token.id = id;
  token.piece = tokenizer.piece_of(id);
  token.special = tokenizer.is_special(id);
  token.sequence = token.special ? -1 : 0;
  return token_label(token, "", tokenizer.spelling());
}

}  // namespace sightline::engine
