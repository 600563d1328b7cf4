#ifndef SIGHTLINE_TOKENIZER_CHARSMAP_H_
#define SIGHTLINE_TOKENIZER_CHARSMAP_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tokenizer/normalized_string.h"
#include "src/tokenizer/normalizer.h"

namespace sightline::tokenizer {

/// SentencePiece's table of what characters become ("precompiled_charsmap"): the bytes of a double-array trie (its size
/// in 4 bytes, then units of 4, all little-endian), then the new forms, each ended by a NUL byte, at the places that
/// the trie's values name.
class Charsmap {
 public:
  /// Throws BadFile, beginning with `where`, for sizes that do not fit and new forms that are not UTF-8.
  Charsmap(std::string_view bytes, std::string_view where);

  /// The new form of the shortest start of `key` that the table has: so the Hugging Face library reads it. Throws
  /// BadFile where the table names a place outside its new forms.
  std::optional<std::string_view> find(std::string_view key) const;

  /// Puts new forms in place: of each grapheme cluster of less than 6 bytes as a whole, else of its characters. Throws
  /// BadFile where the text grows beyond bounds.
  void apply(NormalizedString& text) const;

 private:
  std::optional<std::uint32_t> find_value(std::string_view key) const;

  std::vector<std::uint32_t> units_;
  std::string forms_;
  std::string where_;
  std::array<bool, 128> ascii_changes_{};  // most texts are ASCII, and the trie leaves nearly all of it alone
};

/// "Precompiled".
Normalizer make_precompiled(const JsonObject& json);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_CHARSMAP_H_
