#ifndef SIGHTLINE_TOKENIZER_SPECIAL_TEXT_H_
#define SIGHTLINE_TOKENIZER_SPECIAL_TEXT_H_

#include <cstddef>
#include <span>

#include "sightline/tokenizer.h"

namespace sightline::tokenizer {

/// Where what spells a special token is that token: nowhere, or everywhere but in plain ranges.
struct SpecialText {
  bool parsed = false;
  std::span<const ByteRange> plain = {};  // ascending, apart from one another

  /// Whether bytes [begin, end) of the text may be one.
  bool allows(std::size_t begin, std::size_t end) const;
};

/// Throws BadArgument where plain ranges do not ascend within a text of `size` bytes.
void require_plain_ranges(std::span<const ByteRange> plain, std::size_t size);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_SPECIAL_TEXT_H_
