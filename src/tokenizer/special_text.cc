#include "src/tokenizer/special_text.h"

#include <algorithm>
#include <string>

#include "sightline/error.h"

namespace sightline::tokenizer {

bool SpecialText::allows(std::size_t begin, std::size_t end) const {
  if (!parsed) return false;
  const auto after = std::ranges::partition_point(plain, [&](const ByteRange& range) { return range.end <= begin; });
  return after == plain.end() || after->begin >= end;
}

void require_plain_ranges(std::span<const ByteRange> plain, std::size_t size) {
  std::size_t done = 0;
  for (const auto& [begin, end] : plain) {
    if (begin < done || end < begin || end > size) {
      throw BadArgument("the plain range " + std::to_string(begin) + " to " + std::to_string(end) + " of a text of " +
                        std::to_string(size) + " bytes does not come after the one before it, or leaves the text");
    }
    done = end;
  }
}

}  // namespace sightline::tokenizer
